# Keeps one mongod, and ends it when the process that asked for it is gone, and all others that use it.
#
# Standard input is a pipe whose other end that process holds. An order on it is the line
# "start"; its end, for whatever reason, means: stop mongod and leave nothing behind, once no
# process has DBPATH/users open for writing, a named pipe of which the reading end is here.
# Standard output tells what happened: "started PID", "left PID" (by the process that asked for it),
# "stopping PID" and "exited STATUS".
#
# sh -c SCRIPT sh TEMPORARY GRACE_SECONDS DBPATH MONGOD ARGUMENTS...
#   TEMPORARY  "yes" when the data directory was made for this run only

temporary=$1 grace=$2 dbpath=$3
shift 3
trap '' PIPE
exec 3<&0
users=$dbpath/users
[ -p "$users" ] || mkfifo -m 600 "$users"

# Waits for the end of the input and of all users, then stops the process: first politely, then by force.
guard() {
  # While it is open for writing, the pipe is opened for reading without a wait.
  exec 4<>"$users" 5<"$users" 4>&-
  while read -r _ <&3; do :; done
  echo "left $1"
  while read -r _ <&5; do :; done
  # From here on, it cannot be opened for writing.
  exec 5<&-
  echo "stopping $1"
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
