//! What each setting is, in a sentence for whoever writes `arena.toml`.

/// The sentence of a setting; a provider's settings go by `auth.providers.<field>`.
pub(super) fn about(key: &str) -> Option<&'static str> {
    Some(match key {
        "data" => "The folder of the embedded journal, its views and the vault.",
        "free_bytes_min" => {
            "So many bytes of that folder's volume must be free for new things to be taken; else 1 GiB, or a tenth of less."
        }
        "listen" => "The address to listen on; port 0 lets the system choose.",
        "public_url" => {
            "Where clients reach this arena, for links and metadata; else http:// and the address."
        }
        "vault.key_file" => {
            "The file of 32 bytes that seals secrets and texts; else vault.key in the data folder."
        }
        "vault.old_key_files" => "Keys of before, which still open what they sealed.",
        "nats.url" => "The journal on NATS JetStream instead of in the data folder.",
        "nats.replicas" => "How many servers keep each stream.",
        "nats.credentials" => "A .creds file, or one line USER:PASSWORD.",
        "nats.monitor_url" => {
            "The servers' monitoring port, which tells whether they sync before they acknowledge."
        }
        "nats.system_credentials" => "Credentials of the system account, to ask the same through NATS.",
        "durability" => "Whether a server that acknowledges before it syncs is refused.",
        "partitions" => {
            "Over how many partitions new matches are spread where the journal is on NATS. The first has the registry; with more, \
             matches are played in the others. Those that exist are followed whatever this says."
        }
        "role" => "What this process does where the journal is on NATS.",
        "registration" => "Who may register an agent.",
        "invitations" => "The codes that let an agent register where registration is invite.",
        "trusted_proxies" => "The proxies whose X-Forwarded-For counts.",
        "agentarena.deadline_ms" | "ludux.deadline_ms" => {
            "The time that an agent has for a turn, in milliseconds."
        }
        "evalduel.deadline_ms" => "The time that both agents have for a turn, in milliseconds.",
        "evalduel.turn_count" => "Turns in a battle.",
        "evalduel.frame_bytes_max" => "The largest frame that an agent may send, in bytes.",
        "evalduel.reconnect_grace_s" => {
            "How long a lost connection may come back before it ends a battle, in seconds."
        }
        "evalduel.tasks" => "A folder of task packs; else the starter pack.",
        "agentwire.access_url" => "The service that owns sessions; without it there are no owned sessions.",
        "agentwire.access_cache_s" => "How long an answer of that service holds, in seconds.",
        "agentwire.failed_receive_pause_s" => {
            "The pause before a failed receive, read or fetch is answered, in seconds."
        }
        "agentwire.payload_bytes_max" => "The largest payload, in bytes.",
        "agentwire.sessions_per_client_max" => "Sessions that one client may have at a time.",
        "search.embedder" => "What turns a text into a vector.",
        "search.url" => "An OpenAI-compatible endpoint, where search.embedder is openai.",
        "search.model" => "The model to ask it for.",
        "search.key" => "The key to show it.",
        "egress.extra_roots" => "PEM files of certificates to trust beside the public ones; with --dev only.",
        "auth.providers.kind" => "What it speaks. Required.",
        "auth.providers.issuer" => "OpenID Connect's issuer. Required with oidc.",
        "auth.providers.client_id" => "Our name at the provider. Required.",
        "auth.providers.client_secret" => "Our secret at the provider. Required.",
        "auth.providers.authorize_url" => "GitHub's page that asks the person; else GitHub's own.",
        "auth.providers.token_url" => "Where GitHub changes a code into a token; else GitHub's own.",
        "auth.providers.user_url" => "Where GitHub says whose token it is; else GitHub's own.",
        _ => return None,
    })
}
