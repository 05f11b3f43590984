//! What every page has around it.

use maud::{DOCTYPE, Markup, html};

/// A page with this title and content.
pub(super) fn page(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="icon" href="/assets/arena.svg";
                link rel="stylesheet" href="/assets/arena.css";
            }
            body {
                header {
                    a href="/" { "arena" }
                    a href="/practice" { "practice" }
                }
                (content)
            }
        }
    }
}
