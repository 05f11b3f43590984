//! How the events of sessions are printed.

use super::{name_of, text, time};
use crate::testing::script::Names;
use arena_schema::{Event, command::sessions::Account};
use std::fmt::Write as _;

fn account(account: Option<Account>) -> String {
    account.map_or("none".into(), |account| name_of(&account.tag.0))
}

/// An event of the family; none is one of another.
pub(super) fn event(event: &Event, names: &Names) -> Option<String> {
    let who = |session, number| format!("{} {}", names.session(session), names.participant(session, number));
    Some(match event {
        Event::SessionCreated(e) => {
            format!("{} created{}", names.session(e.session), if e.owned { ", owned" } else { "" })
        }
        Event::SessionJoined(e) => {
            format!("{} joined: n {}, account {}", who(e.session, e.participant), e.n, account(e.account))
        }
        Event::SessionRejoined(e) => {
            format!(
                "{} joined again: n {}, account {}",
                who(e.session, e.participant),
                e.n,
                account(e.account)
            )
        }
        Event::EntrySent(e) => {
            let mut line =
                format!("{} sent: n {}, type {}", who(e.session, e.participant), e.n, text(Some(e.kind)));
            write!(line, ", {} bytes, account {}", e.payload.size, account(e.account)).unwrap();
            if e.payload.object.is_some() {
                line += ", an object";
            }
            if e.filename.is_some() {
                write!(line, ", file name {}", text(e.filename)).unwrap();
            }
            line
        }
        Event::ReadsMoved(e) => {
            let one = |to: &arena_schema::command::sessions::ReadPosition| {
                format!("{} {}", names.participant(e.session, to.participant), to.read)
            };
            let reads: Vec<String> = e.reads.iter().map(one).collect();
            format!("{} read: {}", names.session(e.session), reads.join(", "))
        }
        Event::SessionLeft(e) => {
            format!("{} left: n {}, account {}", who(e.session, e.participant), e.n, account(e.account))
        }
        Event::ParticipantReplaced(e) => format!("{} is nobody", who(e.session, e.participant)),
        Event::AccountSet(e) => {
            format!("{} has account {}", who(e.session, e.participant), account(e.account))
        }
        Event::SessionTouched(e) => format!(
            "{} received by {}{}",
            names.session(e.session),
            names.gateway(e.by),
            if e.waiting { ", waiting" } else { "" }
        ),
        Event::DeletionDue(e) => format!(
            "{} asked about: attempt {} by {}, {}",
            names.session(e.session),
            e.attempt,
            names.gateway(e.home),
            e.because
        ),
        Event::DeletionAnswered(e) => {
            let session = names.session(e.session);
            format!("{session} attempt {}: {}, again {}", e.attempt, e.answer, time(e.again))
        }
        Event::SessionEnded(e) => {
            let session = names.session(e.session);
            format!("{session} ended: {}, cleared by {}", e.because, names.gateway(e.home))
        }
        _ => return None,
    })
}
