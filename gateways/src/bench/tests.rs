use super::*;

#[test]
fn every_figure_can_be_measured() {
    let engine = engine(&EngineOptions { matches: 40, moves_per_record: 10, records: 20, runs: 2 }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(&JournalOptions {
        commands_per_record: 10,
        records: 10,
        submitters: 20,
        commands_each: 10,
        runs: 2,
        syncs: 3,
        ..JournalOptions::new(folder.path())
    })
    .unwrap();
    let agentwire = agentwire(&AgentWireOptions {
        senders: 8,
        sends_each: 2,
        waiting: 110,
        idle: Duration::from_millis(50),
        woken: 10,
        runs: 2,
        ..AgentWireOptions::new(folder.path())
    })
    .unwrap();
    for report in [engine, journal, agentwire] {
        assert!(report.figures.iter().all(|figure| figure.median > 0.0), "{report}");
        assert_eq!(report.to_json()["figures"].as_array().unwrap().len(), report.figures.len());
        assert_eq!(report.to_string().lines().count(), report.figures.len() + 1);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn a_figure_that_misses_its_target_says_so() {
    let figure = Figure::least("it", "ns", &[300.0, 100.0, 250.0]).should(Target::AtMost(200.0));
    assert!(!figure.holds());
    let report = Report { title: "t", figures: vec![figure] };
    assert!(report.to_string().contains("at most 200: MISSED"), "{report}");
    assert_eq!(report.to_json()["holds"], false);
    assert_eq!(number(1_234_567.4), "1,234,567");
    assert_eq!(number(0.75), "0.750");
}
