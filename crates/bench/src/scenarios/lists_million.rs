mod asked;

use anyhow::{Context as _, Result};
use persistence::mongo::MongoStore;
use persistence::{Apps as _, ChatSessions as _, ListCursor, StoreError};
use records::{Actor, AppId, FieldChange, MetadataKeys, SettingsChange, TitlePart};

use self::asked::{AskedList, AskedLists};
use crate::floor::{CUSTOMER, Copies, Execution, Recorder};
use crate::measure::{Comparison, Contest, Measure, Target};
use crate::ours::{APP, Chat, ListChats};
use crate::population::Population;
use crate::report::{Figure, Findings};
use crate::stage::Stage;

const LIMIT: usize = 50;
/// The most filters that narrow a list of the full size: with all of them, thousands of lists read the same few indexes.
/// A quick run has all.
const MOST_NARROWING: usize = 1;
/// Pages of a list that are explained, and sessions that are passed over before the last of them.
const PAGES: usize = 3;
const PASSED_OVER: usize = 2_000;
const PASSED_AT_ONCE: usize = 200;
const MESSAGES: usize = 2;

/// The bounds that the lists aim at.
const MAX_EXAMINED: f64 = 2.0;
const MAX_RATIO: f64 = 1.5;

pub(super) async fn run(stage: &Stage) -> Result<Findings> {
    declare_customer(&stage.store).await?;
    fill(stage).await?;
    let recorder = Recorder::of(&stage.floor, &stage.store_database);
    let most_narrowing = stage.sized(MOST_NARROWING, usize::MAX / 2);
    let asked = AskedLists::of(&title_part(stage)?, most_narrowing)?;
    let AskedLists { lists, unknown_filters } = asked;
    let mut played = Vec::new();
    let progress = stage.progress("measuring", lists.len());
    for list in lists {
        progress.inc(1);
        let context = list.words();
        if let Some(list) = play(stage, &recorder, list).await.context(context)? {
            played.push(list);
        }
    }
    progress.finish_and_clear();
    Ok(findings(played, unknown_filters.len()))
}

/// Declares the key of the metadata by which the sessions are listed.
async fn declare_customer(store: &MongoStore) -> Result<()> {
    let (actor, app_id) = (Actor::command_line(), AppId::parse(APP)?);
    store.register_app(&actor, &app_id).await?;
    let metadata_keys = FieldChange::Set(MetadataKeys::parse(vec![CUSTOMER.to_owned()])?);
    let change = SettingsChange { metadata_keys, ..SettingsChange::default() };
    store.update_app(&actor, &app_id, change).await?;
    Ok(())
}

/// Returns a part of some titles.
fn title_part(stage: &Stage) -> Result<TitlePart> {
    let text = stage.source.text(1_000);
    let is_word = |word: &&str| word.len() > 4 && word.bytes().all(|it| it.is_ascii_lowercase());
    let word = text.split_whitespace().find(is_word).context("the text has no word")?;
    Ok(TitlePart::parse(&word[..4])?)
}

/// Fills the store with copies of one chat, without its indexes, and creates these at the end.
async fn fill(stage: &Stage) -> Result<()> {
    let chat = Chat::create(&stage.store).await?;
    let total = stage.sessions(1_000_000, 2_000);
    let progress = stage.progress("filling", total);
    chat.fill(&stage.source.take(MESSAGES), MESSAGES, &stage.progress("", 0)).await?;
    let copies = Copies::of(&stage.floor, &stage.store_database, chat.id.as_str()).await?;
    stage.floor.drop_indexes(&stage.store_database, "chat_sessions").await?;
    let mut population = Population::new(&stage.source, asked::now());
    population.fill(&copies, total, &progress, Population::any).await?;
    progress.finish_and_clear();
    stage.store.build_indexes().await?;
    Ok(())
}

/// A list with what was measured of it.
struct PlayedList {
    list: AskedList,
    /// The executions of its pages.
    pages: Vec<Execution>,
    comparison: Option<Comparison>,
}

/// Reads pages of a list, and compares the first one with its finds; `None` if the list is not served.
async fn play(stage: &Stage, recorder: &Recorder, list: AskedList) -> Result<Option<PlayedList>> {
    recorder.begin().await?;
    let page = stage.store.list_chats(&list.scope, &list.filter, LIMIT, None).await;
    let finds = recorder.end().await?;
    let page = match page {
        Err(StoreError::Invalid(_)) => return Ok(None),
        page => page?,
    };
    let mut pages = vec![finds.explain().await?];
    let mut next = page.next;
    while let Some(after) = &next {
        if pages.len() == PAGES {
            next = passed_over(stage, &list, after).await?;
        }
        let Some(after) = &next else { break };
        recorder.begin().await?;
        let page = stage.store.list_chats(&list.scope, &list.filter, LIMIT, Some(after)).await?;
        pages.push(recorder.end().await?.explain().await?);
        if pages.len() > PAGES {
            break;
        }
        next = page.next;
    }
    let mut comparison = None;
    if !page.chats.is_empty() {
        let (store, expected) = (&stage.store, page.chats.len());
        let ours = ListChats::of(store, &list.scope, &list.filter, LIMIT, expected);
        let (words, floor) = (list.words(), "the same finds");
        let reads = stage.sized(5, 2);
        let contest = Contest::new(stage).without_progress();
        let contest = contest.reading(&*words, reads, ours).reading(floor, reads, finds);
        let compared = contest.run().await?.compare(&words, floor, Measure::Latency)?;
        comparison = Some(compared.aiming_at(Target::RatioAtMost(MAX_RATIO)));
    }
    Ok(Some(PlayedList { list, pages, comparison }))
}

/// Returns the position behind many more sessions of a list.
async fn passed_over(
    stage: &Stage,
    list: &AskedList,
    after: &ListCursor,
) -> Result<Option<ListCursor>> {
    let (scope, filter) = (&list.scope, &list.filter);
    let mut next = Some(after.clone());
    for _ in 0..PASSED_OVER / PASSED_AT_ONCE {
        let Some(after) = &next else { break };
        next = stage.store.list_chats(scope, filter, PASSED_AT_ONCE, Some(after)).await?.next;
    }
    Ok(next)
}

impl PlayedList {
    /// Returns the most documents that a page has examined for each that its finds returned.
    fn examined(&self) -> f64 {
        let share =
            |page: &Execution| page.examined_documents as f64 / (page.returned as f64).max(1.0);
        self.pages.iter().map(share).fold(0.0, f64::max)
    }
}

/// Reports every list by which one is selected; of those that are narrowed further, the worst.
fn findings(played: Vec<PlayedList>, unknown_filters: usize) -> Findings {
    let (compared, others): (Vec<_>, Vec<_>) = played.iter().partition(|it| it.list.is_compared());
    let most = |lists: &[&PlayedList], of: fn(&PlayedList) -> f64| {
        lists.iter().map(|list| of(list)).fold(0.0, f64::max)
    };
    let ratio = |list: &PlayedList| list.comparison.as_ref().map_or(0.0, |it| it.ratio.median);
    let keys = |list: &PlayedList| {
        list.pages.iter().map(|page| page.examined_keys as f64).fold(0.0, f64::max)
    };
    let slow = played.iter().filter(|list| ratio(list) > MAX_RATIO).count();
    let pages = played.iter().map(|list| list.pages.len()).sum::<usize>();
    let figure = |name: &str, value: f64, unit, at_most| Figure {
        name: name.to_owned(),
        value,
        unit,
        at_most,
    };
    let per = "documents for each that was returned";
    let figures = vec![
        figure("lists", played.len() as f64, "combinations", None),
        figure("left out", unknown_filters as f64, "filters unknown to this scenario", Some(0.0)),
        figure("explained", pages as f64, "pages", None),
        figure("examined at most", most(&others, PlayedList::examined), per, Some(MAX_EXAMINED)),
        figure("examined at most, compared", most(&compared, PlayedList::examined), per, None),
        figure("passed in an index at most", most(&others, keys), "keys for a page", None),
        figure("slowest first page", most(&others, ratio), "× its finds", Some(MAX_RATIO)),
        figure("slowest first page, compared", most(&compared, ratio), "× its finds", None),
        figure("lists above that", slow as f64, "combinations", Some(0.0)),
    ];
    let is_shown = |list: &PlayedList| list.list.is_plain || ratio(list) > MAX_RATIO;
    let shown = played.into_iter().filter(is_shown);
    Findings { comparisons: shown.filter_map(|list| list.comparison).collect(), figures }
}
