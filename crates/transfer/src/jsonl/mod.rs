//! The layout of sessions in JSON Lines: `index.json`, and for each session `session_{id}.jsonl` and `session_{id}_tools.jsonl`;
//! and the layout before it, a JSON file for each session.

mod file_name;
mod index;
mod line;
mod older;
mod tool_line;

pub use file_name::{
    COMPRESSED, INDEX, INDEX_BACKUP, SessionFile, file_of, is_file_of_tools, tools_file_of,
};
pub use index::{
    Entry, EntryError, EntryNote, SessionTimes, Status, index_key, read_time, write_entry,
};
pub use line::{LineError, LineNote, ReadLine, origin_of, read_line, write_line};
pub use older::{MESSAGES, OlderError, OlderFile, OlderSession, TOOLS_USED};
pub use tool_line::{ReadToolLine, ToolLineNote, read_tool_line, write_tool_line};
