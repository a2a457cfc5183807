# Keeps one mongod, and ends it when the process that asked for it is gone.
#
# Standard input is a pipe whose other end that process holds. An order on it is the line
# "start"; its end, for whatever reason, means: stop mongod and leave nothing behind.
# Standard output tells what happened: "started PID" and "exited STATUS".
#
# sh -c SCRIPT sh TEMPORARY GRACE_SECONDS DBPATH MONGOD ARGUMENTS...
#   TEMPORARY  "yes" when the data directory was made for this run only

temporary=$1 grace=$2 dbpath=$3
shift 3
trap '' PIPE
exec 3<&0

# Waits for the end of the input, then stops the process: first politely, then by force.
guard() {
  while read -r _ <&3; do :; done
  kill -TERM "$1"
  kill -CONT "$1"
  while [ "$grace" -gt 0 ]; do
    sleep 1 >/dev/null
    grace=$((grace - 1))
  done
  kill -KILL "$1"
}

order=start
while [ "$order" = start ]; do
  "$@" </dev/null >>"$dbpath/mongod.log" 2>&1 3<&- &
  mongod=$!
  echo "started $mongod"
  guard "$mongod" &
  guard=$!
  wait "$mongod"
  status=$?
  kill -KILL "$guard"
  wait "$guard"
  echo "exited $status"
  read -r order <&3 || order=end
done

if [ "$temporary" = yes ]; then
  rm -rf -- "$dbpath"
  rmdir -- "$(dirname -- "$dbpath")"
fi
