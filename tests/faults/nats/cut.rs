//! The way to the servers breaks while a record is on it, or the stream takes no more.

use super::{Load, Site, assert_registered_once, last_lead, leader::stop_all, wait_until};
use arena_tests::{Served, nats::left_out, proxy::Proxy};
use serde_json::json;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_cut_off_in_the_middle_of_an_append_loses_nothing_and_doubles_nothing() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let proxy = Proxy::before(site.servers.nodes[0].address());
    let far = Served::with(site.options("e1", "engine", &proxy.url()));
    let gateway = site.serve("g1", "gateway");
    let near = site.serve("e2", "engine");
    let load = Load::start(&[&gateway], 4);
    load.more(20).await;
    // Cut after so many bytes, and back at once: within a record, most likely.
    for bytes in [1, 400, 1_500, 6_001] {
        proxy.cut_after(bytes);
        wait_until("the cut", || proxy.has_cut());
        proxy.open();
        load.resumed(Instant::now()).await;
    }
    for swallows in [false, true] {
        // The far one leads.
        let before = last_lead(&far).max(last_lead(&near));
        if last_lead(&near) > last_lead(&far) {
            near.signal("STOP");
            wait_until("the far one's lead", || last_lead(&far) > before);
            near.signal("CONT");
        }
        load.more(20).await;
        let before = last_lead(&near);
        if swallows {
            // What it sends is stored, and it never learns of it.
            proxy.swallow(true);
        } else {
            proxy.cut_after(777);
        }
        let cut = Instant::now();
        wait_until("the near one's lead", || last_lead(&near) > before);
        println!("takeover after {} ms", load.resumed(cut).await.as_millis());
        load.more(20).await;
        if swallows {
            proxy.swallow(false);
            proxy.cut(false);
        }
        proxy.open();
    }
    load.more(20).await;
    let acknowledged = load.stop().await;
    stop_all(gateway, vec![far, near]);
    assert_registered_once(&site.judge(), &acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_stream_is_named_loses_nothing_and_goes_on_when_it_has_room() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [one, two, gateway] = site.serve_all([("e1", "engine"), ("e2", "engine"), ("g1", "gateway")]);
    let load = Load::start(&[&gateway], 4);
    load.more(20).await;
    let bytes = site.ask("STREAM.INFO.ARENA_RECORDS_0_1", &json!({}))["state"]["bytes"].as_u64().unwrap();
    site.alter("max_bytes", json!(bytes + 20_000));
    let names = |served: &Served| {
        let log = served.log();
        log.contains("ARENA_RECORDS_0_1")
            && log.contains("takes no more")
            && log.contains("maximum bytes exceeded")
    };
    wait_until("a word of the full stream", || names(&one) || names(&two));
    // Whoever tries next says the same, and nobody ends.
    wait_until("the other's word", || names(&one) && names(&two));
    site.alter("max_bytes", json!(-1));
    println!("served on after {} ms", load.resumed(Instant::now()).await.as_millis());
    load.more(20).await;
    let acknowledged = load.stop().await;
    stop_all(gateway, vec![one, two]);
    assert_registered_once(&site.judge(), &acknowledged);
}
