// Made by docs/book/capacity.py: bytes for each message, by the size of its text.
export const ROWS = [
  { size: 200, disk: 256.0, indexes: 94.7, search: 2312.2, oplog: 813.8, oplogSearch: 1613.6 },
  { size: 1000, disk: 772.6, indexes: 166.4, search: 7048.7, oplog: 1615.9, oplogSearch: 3693.8 },
  { size: 8000, disk: 5472.3, indexes: 247.8, search: 26630.1, oplog: 15554.1, oplogSearch: 24456.9 },
];
