//! Many sessions lived at random, beside a model of what each must read like that knows nothing of rows.

use super::{
    PLAIN,
    door::{Door, Session},
    log, people,
};
use crate::{
    JOIN_TYPE, LEAVE_TYPE, ViewsAt,
    tests::{
        partitions::{Run, network::Network},
        rows, without_checkpoint,
    },
};
use arena_schema::id::ObjectId;

const PARTITIONS: u16 = 2;
const STEPS: usize = 400;

struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

struct Person {
    name: String,
    account: Option<String>,
    is_in: bool,
}

struct Modelled {
    session: Session,
    people: Vec<Person>,
    log: Vec<String>,
}

impl Modelled {
    fn append(&mut self, who: usize, rest: &str) {
        let Person { name, account, .. } = &self.people[who];
        let account = account.as_deref().unwrap_or("-");
        self.log.push(format!("{} {name}@{} {rest} {account}", self.log.len() + 1, who + 1));
    }

    fn people(&self) -> Vec<String> {
        let line = |(number, person): (usize, &Person)| {
            format!("{number} {} {}", person.name, person.account.as_deref().unwrap_or("-"))
        };
        (1..).zip(&self.people).map(line).collect()
    }

    fn present(&self) -> usize {
        self.people.iter().filter(|person| person.is_in).count()
    }
}

fn some_account(dice: &mut Dice) -> Option<String> {
    match dice.below(4) {
        0 => None,
        account => Some(format!("account-{account}")),
    }
}

/// One thing happens to a session; whether it goes on after.
fn step(network: &mut Network, dice: &mut Dice, model: &mut Modelled) -> bool {
    let session = model.session;
    if model.people.is_empty() || dice.below(8) == 0 {
        let (name, account) = (format!("name-{}", model.people.len()), some_account(dice));
        network.join(session, &name, account.as_deref());
        model.people.push(Person { name, account, is_in: true });
        model.append(model.people.len() - 1, &format!("[{JOIN_TYPE}] 0 '' -"));
        return true;
    }
    let who = dice.below(model.people.len());
    let number = who as u32 + 1;
    if !model.people[who].is_in {
        let account = some_account(dice);
        network.rejoin(session, number, account.as_deref());
        model.people[who].account = account;
        model.people[who].is_in = true;
        model.append(who, &format!("[{JOIN_TYPE}] 0 '' -"));
        return true;
    }
    match dice.below(6) {
        0 => {
            let account = some_account(dice);
            network.set_account(session, number, account.as_deref());
            model.people[who].account = account;
        }
        1 => {
            network.leave(session, number);
            model.append(who, &format!("[{LEAVE_TYPE}] 0 '' -"));
            model.people[who].is_in = false;
            return model.present() > 0;
        }
        2 => {
            network.send_object(session, number, ObjectId([who as u8; 16]), 66_000);
            model.append(who, "[image/png] 66000 '-' plot.png");
        }
        _ => {
            let said = "s".repeat(dice.below(5));
            network.send(session, number, PLAIN, said.as_bytes(), None);
            model.append(who, &format!("[{PLAIN}] {} '{said}' -", said.len()));
        }
    }
    true
}

#[test]
fn every_open_session_reads_like_its_model_and_no_ended_one_reads_at_all() {
    let data = tempfile::tempdir().unwrap();
    for seed in [1, 2, 3] {
        let (mut network, mut dice) = (Network::of(PARTITIONS), Dice(seed));
        let at = ViewsAt::Data(data.path().join(seed.to_string()));
        let (mut open, mut ended): (Vec<Modelled>, Vec<Session>) = (Vec::new(), Vec::new());
        for at_step in 0..STEPS {
            if open.is_empty() || dice.below(20) == 0 {
                let session = network.create(dice.below(usize::from(PARTITIONS)) as u16, false);
                open.push(Modelled { session, people: Vec::new(), log: Vec::new() });
            }
            let chosen = dice.below(open.len());
            if !step(&mut network, &mut dice, &mut open[chosen]) {
                ended.push(open.swap_remove(chosen).session);
            }
            // Now and then the views catch up, from where they were.
            if at_step % 150 == 149 || at_step + 1 == STEPS {
                let mut run = Run::open(&network, &at, PARTITIONS);
                run.feed_all(&network);
                for model in &open {
                    assert_eq!(log(&run.views, model.session), model.log, "seed {seed}, step {at_step}");
                    assert_eq!(people(&run.views, model.session), model.people());
                }
                for &session in &ended {
                    assert!(log(&run.views, session).is_empty() && people(&run.views, session).is_empty());
                }
                run.views.close().unwrap();
            }
        }
        assert!(open.len() > 2 && ended.len() > 2, "seed {seed}: {} open, {} ended", open.len(), ended.len());
        let files = ["views/sessions.db", "views/1/sessions.db"];
        let all_rows =
            |folder: &str| files.map(|file| without_checkpoint(rows(&data.path().join(folder).join(file))));
        let once = format!("{seed}-in-one-go");
        let mut run = Run::open(&network, &ViewsAt::Data(data.path().join(&once)), PARTITIONS);
        run.feed_all(&network);
        run.views.close().unwrap();
        assert_eq!(all_rows(&once), all_rows(&seed.to_string()));
    }
}
