//! The examples of `docs/MOVING.md` are run, in their order, and print what the page says.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use tests::binary::command;

use super::Place;

const PAGE: &str = include_str!("../../../../docs/MOVING.md");
const FILES: &str = "../fixtures/moving";

/// A command of the page, and what it prints.
struct Example {
    command: String,
    output: String,
}

fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for block in PAGE.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        for line in block.lines() {
            match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => {
                    examples.push(Example { command: command.to_owned(), output: String::new() });
                }
                (None, Some(example)) => example.output.extend([line, "\n"]),
                (None, None) => {}
            }
        }
    }
    examples
}

/// Runs a command of the page in a directory, and returns what it prints on both outputs.
async fn printed(place: &Place, directory: &Path, example: &str) -> Result<String> {
    let (line, file) =
        example.split_once(" > ").map_or((example, None), |(line, file)| (line, Some(file)));
    let mut words = line.split(' ');
    ensure!(words.next() == Some("reprise"), "not a command of this project: {example}");
    let mut command = command(&words.collect::<Vec<_>>()).await?;
    place.settings.apply(&mut command);
    command.current_dir(directory);
    let printed = match file {
        Some(file) => File::create(directory.join(file))?.into(),
        None => Stdio::piped(),
    };
    // `output` would take both outputs, whatever they are.
    let running = command.stdout(printed).stderr(Stdio::piped()).spawn()?;
    let output = running.wait_with_output().await?;
    Ok(String::from_utf8([output.stderr, output.stdout].concat())?)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir().with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_examples_of_the_page_print_what_it_says() -> Result<()> {
    let place = Place::new().await?;
    let directory = tempfile::tempdir()?;
    copy(Path::new(FILES), directory.path())?;
    let examples = examples();
    assert!(!examples.is_empty());
    for Example { command, output } in examples {
        assert_eq!(printed(&place, directory.path(), &command).await?, output, "{command}");
    }
    Ok(())
}
