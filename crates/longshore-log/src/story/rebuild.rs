//! The story of a rebuild: a catalog that is rebuilt from a journal gives the same answers as the catalog
//! that was written with the journal.

use longshore_model::id::SessionId;
use uuid::Uuid;

use super::everything;
use super::sample::{Talk, append, at, session};
use crate::catalog::catch_up;
use crate::{Catalog, SessionFilter, Stats, Stores};

pub(super) async fn it_can_be_made_anew(log: &Stores, empty: &Stores) {
    catch_up(&*empty.catalog, &*log.journal).await.unwrap();
    same(log, empty).await;
    // No entry is applied twice, and the catalog continues where it stopped.
    catch_up(&*empty.catalog, &*log.journal).await.unwrap();
    same(log, empty).await;
    let mut talk = Talk::new(22);
    talk.seq = log.journal.head(talk.session).await.unwrap().seq;
    let frames = talk.turn_of(80, &["a late ", "porpoise"]);
    append(&*log.journal, crate::Batch { info: Some(talk.info(|_| ())), ..talk.batch(frames) })
        .await
        .unwrap();
    assert!(log.journal.erase(session(61)).await.unwrap());
    log.journal.forget(at(1_006)).await.unwrap();
    catch_up(&*empty.catalog, &*log.journal).await.unwrap();
    same(log, empty).await;
}

async fn same(log: &Stores, made: &Stores) {
    let (one, other) = (answers(&*log.catalog).await, answers(&*made.catalog).await);
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one, other);
    }
    assert!(one.len() > 25 && one.len() == other.len());
}

/// Every question with its answer.
async fn answers(catalog: &dyn Catalog) -> Vec<String> {
    let mut told = Vec::new();
    let listed = catalog.sessions(everything()).await.unwrap();
    let known: Vec<SessionId> = listed.sessions.iter().map(|info| info.session_id).collect();
    told.push(format!("{listed:?}"));
    for q in ["fluß 11", "boat", "%"] {
        let filter = SessionFilter { q: Some(q.into()), ..SessionFilter::default() };
        told.push(format!("{q}: {:?}", catalog.sessions(filter).await.unwrap()));
    }
    for id in known.into_iter().chain([1, 3, 21, 22, 50, 61].map(session)) {
        told.push(format!(
            "{:?} {:?}",
            catalog.session(id).await.unwrap(),
            catalog.applied(id).await.unwrap()
        ));
    }
    let mut unfinished = catalog.unfinished().await.unwrap();
    unfinished.sort_by_key(|info| info.session_id);
    told.push(format!("{unfinished:?} {:?}", catalog.cut().await.unwrap()));
    for ask in [0xa, 0xb, 0xc, 0xd] {
        told.push(format!("{ask}: {:?}", catalog.session_of(Uuid::from_u128(ask)).await.unwrap()));
    }
    for native in ["thread-1", "thread-2", "native-7001"] {
        let found = catalog.native("codex".into(), native.into()).await.unwrap();
        told.push(format!("{native}: {found:?} {}", catalog.is_erased(native.into()).await.unwrap()));
    }
    for words in ["tests", "narwhal", "heron", "porp", "barnacle", "xyzzyplugh", "walrus", "anew"] {
        let mut hits = catalog.search(words.into(), 100).await.unwrap();
        hits.sort_by_key(|hit| (hit.session, hit.seq));
        told.push(format!("{words}: {hits:?}"));
    }
    told.push(format!("{:?}", catalog.usage(at(0)).await.unwrap()));
    let Stats { sessions, events, .. } = catalog.stats().await.unwrap();
    told.push(format!("{sessions} sessions, {events} events"));
    told
}
