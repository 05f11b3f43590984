//! Matches in several partitions: every process follows all of them, and whoever goes, goes from all.

use super::{
    Site, assert_nobody_paid,
    gateways::{Agents, Asked, finished, open, register},
    leader::stop_all,
};
use arena_schema::{
    Event,
    id::{MatchId, Partition},
};
use arena_tests::{
    nats::left_out,
    program::arena,
    served::{binary, poll_async},
};
use serde_json::Value;
use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const PARTITIONS: u16 = 3;
const MATCHES: usize = 300;
const AGENTS: usize = 40;
const DEADLINE_MS: u32 = 20_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn matches_of_all_partitions_end_and_count_although_an_engine_and_a_gateway_are_killed() {
    if left_out() {
        return;
    }
    let site = Site::one().with_partitions(PARTITIONS);
    let [killed, engine, one, two] =
        site.serve_all([("e1", "engine"), ("e2", "engine"), ("g1", "gateway"), ("g2", "gateway")]);
    let agents = Agents::start([Duration::from_millis(10); 2]).await;
    let registered = register(&agents, [&one, &two], AGENTS).await;
    let mut ids = open(&registered, [&one, &two], MATCHES / 2, DEADLINE_MS).await;
    killed.kill();
    ids.extend(open(&registered, [&one, &two], MATCHES / 2, DEADLINE_MS).await);
    let busy = agents.memory().count + 100;
    agents.until_asked(busy).await;
    one.kill();
    // The engine that was killed comes back from its own folder, and the other goes.
    let back = site.serve("e1", "engine");
    engine.kill();
    // What it had sent may still be on its way to the agent.
    let gone = Instant::now() + Duration::from_secs(1);
    finished(&two, &ids).await;
    {
        let memory = agents.memory();
        assert_eq!(memory.overlaps, Vec::<String>::new(), "an agent has one request open");
        assert_eq!(memory.strikes, 0);
        for (turn, asked) in memory.asked.iter().filter(|(_, asked)| asked.len() > 1) {
            // The gateway that is left may drop a request too: where no leader has renewed its lease for so long that it could be
            // taken for gone.
            let (last, dropped) = asked.split_last().unwrap();
            assert!(last.gateway.contains("g2."), "{turn:?} {asked:?}");
            let of_the_killed = |one: &Asked| one.gateway.contains("g1.") && one.at < gone;
            let open = |one: &Asked| of_the_killed(one) || (one.gateway.contains("g2.") && !one.answered);
            assert!(dropped.iter().all(open) && asked.len() <= 3, "{turn:?} {asked:?}");
        }
    }
    // A match that was read at its end counts as soon as the first partition is told.
    let begun = Instant::now();
    let rated = loop {
        let mut rated = 0;
        for agent in &registered {
            let (status, profile) = two.get(&format!("/api/v1/agents/{}", agent.slug), None).await;
            assert_eq!(status, 200, "{profile}");
            rated += results(&profile);
        }
        if rated >= 2 * MATCHES as u64 || begun.elapsed() > Duration::from_secs(30) {
            break rated;
        }
        poll_async().await;
    };
    assert_eq!(rated, 2 * MATCHES as u64, "each match counts for both");
    // A gateway that comes reads what was played before it came, and the same ratings.
    let third = site.serve("g3", "gateway");
    for agent in &registered {
        let path = format!("/api/v1/agents/{}", agent.slug);
        assert_eq!(third.get(&path, None).await, two.get(&path, None).await);
    }
    finished(&third, &ids[..20]).await;
    third.stop();
    stop_all(two, vec![back]);
    let mut played = Vec::new();
    for partition in 0..PARTITIONS {
        let records = site.judge_of(Partition(partition));
        assert_nobody_paid(&records);
        let ended = records.iter().flat_map(|record| &record.events);
        played.push(ended.filter(|event| matches!(event, Event::MatchEnded(_))).count());
        // As whoever runs the arena looks at it.
        let number = partition.to_string();
        let (url, copy) = (site.servers.url(), site.data("g2").display().to_string());
        for at in [["--nats", &url], ["--data", &copy]] {
            let of = ["--partition", &number, "--json"];
            let printed = arena(["audit"].into_iter().chain(at).chain(of));
            assert_eq!(printed.code(), 0, "{}", printed.err);
            let report: Value = serde_json::from_str(&printed.out).unwrap();
            assert!(report["holds"] == true && report["records"].as_u64() > Some(10), "{report}");
            let printed = arena(["journal", "info"].into_iter().chain(at).chain(of));
            let report: Value = serde_json::from_str(&printed.out).unwrap();
            assert_eq!(report["partition"], partition, "{report}");
        }
        // And as it takes one home: the bytes are the same.
        let home = site.data("home").display().to_string();
        let copied = arena(["journal", "copy", "--from", &url, "--to", &home, "--partition", &number]);
        assert_eq!(copied.code(), 0, "{}", copied.err);
        let audited = |at: [&str; 2]| {
            let printed = arena(["audit"].into_iter().chain(at).chain(["--partition", &number, "--json"]));
            let report: Value = serde_json::from_str(&printed.out).unwrap();
            ["head", "digest", "records", "events", "texts"].map(|key| report[key].clone())
        };
        assert_eq!(audited(["--data", &home]), audited(["--nats", &url]));
    }
    // The doctor sees each partition, and this process's copy of it.
    let key = site.data("vault.key").display().to_string();
    let looked = doctor(&site.servers.url(), &site.data("e1"), &key);
    for partition in 1..PARTITIONS {
        for words in
            [format!("ARENA_RECORDS_{partition}_1"), format!("partition {partition}: it goes to record")]
        {
            assert!(looked.contains(&words), "{words} is missing:\n{looked}");
        }
    }
    println!("matches played in each partition: {played:?}");
    assert_eq!(played.iter().sum::<usize>(), MATCHES);
    for partition in 1..PARTITIONS {
        let there = |id: &&String| MatchId::parse(id).unwrap().partition() == Partition(partition);
        let named = ids.iter().filter(there).count();
        assert!(named > 0 && named == played[usize::from(partition)], "{played:?}");
    }
}

fn doctor(url: &str, data: &Path, key: &str) -> String {
    let mut command = Command::new(binary());
    command.args(["doctor", "--nats", url, "--data"]).arg(data).env("ARENA_VAULT__KEY_FILE", key);
    let output = command.env("NO_COLOR", "1").current_dir(std::env::temp_dir()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Rated matches of an agent, by its public profile.
fn results(profile: &Value) -> u64 {
    let ratings = profile["ratings"].as_array().unwrap();
    let counts = ratings.iter().flat_map(|rating| ["wins", "draws", "losses"].map(|key| &rating[key]));
    counts.map(|count| count.as_u64().unwrap()).sum()
}
