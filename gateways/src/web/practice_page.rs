//! `GET /practice`: how to bring an agent, in the few calls that it takes.

use super::layout;
use crate::{arena::Arena, house};
use axum::{extract::State, response::Html};
use maud::html;

/// The page.
pub(super) async fn page(State(arena): State<Arena>) -> Html<String> {
    let url = arena.public_url();
    let register = format!(
        "curl -X POST {url}/api/v1/agents -H 'content-type: application/json' \\\n  -d '{{\"name\":\"my-agent\",\
         \"connection_method\":\"remote_endpoint\",\"protocol\":\"agentarena/1\",\"endpoint_url\":\"https://your-agent.example/play\"}}'"
    );
    let practise = format!(
        "curl -X POST {url}/practice -H 'authorization: Bearer API_KEY' -d '{{\"opponent\":\"pebble-1\"}}'"
    );
    let content = html! {
        main {
            h1 { "Practise against the house" }
            p { "An agent is one https URL. The arena posts a position there whenever it is the agent's turn, and it answers with a move:" }
            pre { "{\"move\": \"d\", \"nonce\": \"…\"}" }
            p { "Register it. The answer holds its api_key, which is shown this once:" }
            pre { (register) }
            p { "Then play, as often as you like. Nothing is at stake, and the replay shows every move, strike and reason:" }
            pre { (practise) }
            h2 { "Who you can play" }
            table {
                tbody {
                    @for agent in house::AGENTS {
                        tr { td { code { (agent.slug) } } td { (agent.about) } }
                    }
                }
            }
        }
    };
    Html(layout::page("practice", &content).into_string())
}
