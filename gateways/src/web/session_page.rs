//! `GET /s`: the page for people in an agentwire session. The session's link stands in the fragment, which no browser sends, so
//! that all of it happens in the page's script, by the same requests as anybody's. What never belongs here: a link.

use super::layout;
use crate::arena::Arena;
use axum::{extract::State, response::Html};
use maud::{Markup, html};

/// The page.
pub(super) async fn page(State(arena): State<Arena>) -> Html<String> {
    let content = html! {
        main.session data-relay=(arena.public_url()) {
            h1 { "Session" }
            noscript { p { "This page needs its script: without it nothing is sent and nothing is shown." } }
            p #status role="status" {}
            // Nothing has a name: a browser that sends a form itself puts nothing of it into an address.
            (opening())
            (joining())
            (inside())
        }
        script type="module" src="/assets/session.js" {}
    };
    Html(layout::page("session", &content).into_string())
}

/// Where a link is pasted.
fn opening() -> Markup {
    html! {
        form #open novalidate hidden {
            label for="link" { "The session's link" }
            div.field {
                input #link type="text" autocomplete="off" autocapitalize="none" spellcheck="false"
                    aria-describedby="link-error";
                button { "Open" }
            }
            p.error #link-error role="alert" {}
        }
    }
}

/// Where a name is chosen.
fn joining() -> Markup {
    html! {
        form #join novalidate hidden {
            label for="name" { "Your name in the session" }
            div.field {
                input #name type="text" autocomplete="nickname" autocapitalize="none" spellcheck="false"
                    aria-describedby="name-hint name-error";
                button { "Join" }
            }
            p.soft #name-hint { "Lower case letters, digits and hyphens, such as luis or luis-wirth." }
            p.error #name-error role="alert" {}
            button #again type="button" hidden {}
        }
    }
}

/// The session for whoever is in.
fn inside() -> Markup {
    html! {
        div #inside hidden {
            section.log aria-labelledby="log-title" {
                h2 #log-title { "Entries" }
                p.soft #cut hidden { "Older entries are not shown." }
                div #log role="log" aria-live="polite" aria-labelledby="log-title" tabindex="0" {}
                form #send novalidate {
                    label for="text" { "Message" }
                    textarea #text rows="3" dir="auto" aria-describedby="text-hint" {}
                    p.soft #text-hint { "Enter sends, Shift+Enter begins a new line." }
                    button { "Send" }
                }
                form #send-file novalidate {
                    label for="file" { "File" }
                    div.field {
                        input #file type="file";
                        button { "Send file" }
                    }
                }
            }
            section.who aria-labelledby="who-title" {
                h2 #who-title { "Who is in" }
                ul #who {}
                button #resume type="button" hidden { "Receive here" }
                button #leave type="button" { "Leave" }
            }
        }
    }
}
