use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use persistence::mongo::MongoStore;
use persistence::{MessageSearch, Messages as _, Search as _, Store};
use records::{AppId, MessageBody, Scope, SearchQuery};
use service::Config;
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::messages::Message;
use crate::ours::{APP, Chat, SteadyAppends};
use crate::report::{Figure, Findings};
use crate::stage::Stage;

/// How many chats each round adds, and how many messages each of them has.
const CHATS_OF_ROUND: usize = 250;
const MESSAGES: usize = 100;

/// How many chats are filled at a time.
const FILLED_AT_ONCE: usize = 8;

/// How many chats are indexed with one call.
const INDEXED_AT_ONCE: usize = 128;

/// The messages that are appended each second while the delay is measured. They are fewer than one process can index: behind
/// more, every index falls back further and further.
const APPENDED_EACH_SECOND: u32 = 300;

/// How many hits a page has.
const PAGE: usize = 20;

/// A kind of query: the names of its two figures, and the query that it makes of the words of a message.
type Kind = (&'static str, &'static str, fn(&[&str]) -> String);

const QUERIES: [Kind; 4] = [
    ("one word, p50", "one word, p95", |words| words[0].to_owned()),
    ("two words of a message, p50", "two words of a message, p95", |words| words[..2].join(" ")),
    ("beginning of a word, p50", "beginning of a word, p95", |words| {
        let beginning: String = words[0].chars().take(3).collect();
        format!("{beginning}*")
    }),
    ("a word that no message has, p50", "a word that no message has, p95", |words| {
        format!("{}qqx", words[0])
    }),
];

pub(super) async fn run(stage: &Stage) -> Result<Findings> {
    let chats =
        Chat::create_many(&stage.store, stage.sized(stage.rounds * CHATS_OF_ROUND, 4)).await?;
    let samples = fill(stage, &chats).await?;
    let mut figures = vec![index_all(stage, chats.len() * MESSAGES).await?];
    figures.extend(sizes(stage).await?);
    for (p50, p95, query) in QUERIES {
        let mut times = Vec::new();
        for sample in &samples {
            let words: Vec<&str> = words_of(sample);
            if words.len() >= 2 {
                times.push(search(&stage.store, &query(&words)).await?.0);
            }
        }
        figures.extend(quantiles(times, [(p50, 0.5, None), (p95, 0.95, None)]));
    }
    let delays = delays_under_load(stage, &chats).await?;
    let named = [
        ("found after its append under load, p50", 0.5, None),
        ("found after its append under load, p95", 0.95, Some(2_000.0)),
    ];
    figures.extend(quantiles(delays, named));
    Ok(Findings { comparisons: Vec::new(), figures })
}

/// Fills the chats, and returns some of the messages.
async fn fill(stage: &Stage, chats: &[Chat]) -> Result<Vec<Message>> {
    let progress = stage.progress("filling", chats.len() * MESSAGES);
    let (source, bar) = (&stage.source, &progress);
    let filling = chats.iter().map(|chat| async move {
        let messages = source.take(MESSAGES);
        chat.fill(&messages, MESSAGES, bar).await?;
        anyhow::Ok(messages.into_iter().nth(MESSAGES / 2))
    });
    let filling = stream::iter(filling).buffer_unordered(FILLED_AT_ONCE);
    let samples: Vec<_> = filling.try_collect().await?;
    progress.finish_and_clear();
    let most = stage.sized(300, 4);
    let every = samples.len().div_ceil(most).max(1);
    Ok(samples.into_iter().step_by(every).flatten().collect())
}

/// Returns the different words of a message that may be searched for, in its order.
fn words_of(message: &Message) -> Vec<&str> {
    let letters = |word: &&str| word.len() > 3 && word.chars().all(char::is_alphabetic);
    let mut words: Vec<&str> = Vec::new();
    for word in message.content.split_whitespace().filter(letters) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Brings the index up to date; returns how many messages a second.
async fn index_all(stage: &Stage, messages: usize) -> Result<Figure> {
    let (app_id, began) = (AppId::parse(APP)?, Instant::now());
    let progress = stage.progress("indexing", messages);
    let mut after = None;
    loop {
        after = stage.store.catch_up_index(&app_id, after.as_ref(), INDEXED_AT_ONCE).await?;
        progress.inc((INDEXED_AT_ONCE * MESSAGES) as u64);
        if after.is_none() {
            break;
        }
    }
    progress.finish_and_clear();
    let value = messages as f64 / began.elapsed().as_secs_f64();
    Ok(Figure {
        name: "indexed by one process".to_owned(),
        value,
        unit: "messages/s",
        at_most: None,
    })
}

async fn sizes(stage: &Stage) -> Result<Vec<Figure>> {
    let size = async |collections: &[&str]| {
        let mut total = 0.0;
        for collection in collections {
            total += stage.floor.stored_bytes(&stage.store_database, collection).await?;
        }
        anyhow::Ok(total / f64::from(1 << 20))
    };
    let figure =
        |name: &str, value| Figure { name: name.to_owned(), value, unit: "MiB", at_most: None };
    Ok(vec![
        figure("messages, with their indexes", size(&["chat_sessions", "chat_segments"]).await?),
        figure("search index", size(&["search_entries", "search_marks"]).await?),
    ])
}

/// Searches once; returns the time that it took, and whether anything was found.
async fn search(store: &MongoStore, words: &str) -> Result<(Duration, bool)> {
    let scope = Scope::service(AppId::parse(APP)?);
    let query = SearchQuery::parse(words).map_err(|invalid| anyhow::anyhow!(invalid.detail))?;
    let (search, began) = (MessageSearch::of(query), Instant::now());
    let page = store.search_messages(&scope, &search, PAGE, None).await?;
    Ok((began.elapsed(), !page.hits.is_empty()))
}

/// Appends to all chats, one after the other, and measures how long single messages take until they are found.
async fn delays_under_load(stage: &Stage, chats: &[Chat]) -> Result<Vec<Duration>> {
    let store: Arc<dyn Store> = Arc::new(stage.store.clone());
    let (_, indexer) = service::router_and_upkeep(store, Config::default())?;
    let indexing = tokio::spawn(indexer.run());
    let ending = CancellationToken::new();
    let appends = SteadyAppends {
        source: stage.source.clone(),
        chats: chats.to_vec(),
        ticks: interval(Duration::from_secs(1) / APPENDED_EACH_SECOND),
        each_tick: 1,
        most: usize::MAX,
    };
    let writing = tokio::spawn(appends.run(ending.clone()));
    sleep(Duration::from_secs(2)).await;
    let count = stage.sized(200, 3);
    let progress = stage.progress("delays", count);
    let mut delays = Vec::new();
    for number in 0..count {
        let token = format!("token{number}qq");
        let chat = &chats[number % chats.len()];
        let body = MessageBody::new("user", None, token.as_str());
        stage.store.append(&chat.scope, &chat.id, vec![body.into()]).await?;
        let began = Instant::now();
        while !search(&stage.store, &token).await?.1 {
            ensure!(began.elapsed() < Duration::from_mins(1), "{token} is not found");
            sleep(Duration::from_millis(20)).await;
        }
        delays.push(began.elapsed());
        progress.inc(1);
    }
    progress.finish_and_clear();
    ending.cancel();
    writing.await.context("the writer has failed")??;
    indexing.abort();
    Ok(delays)
}

fn quantiles(
    mut times: Vec<Duration>,
    named: [(&'static str, f64, Option<f64>); 2],
) -> impl Iterator<Item = Figure> {
    times.sort_unstable();
    named.into_iter().map(move |(name, share, at_most)| {
        let value = crate::measure::quantile(&times, share).as_secs_f64() * 1_000.0;
        Figure { name: name.to_owned(), value, unit: "ms", at_most }
    })
}
