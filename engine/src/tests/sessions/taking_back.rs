//! Taking a name back (agentwire.md, *Access*): from whom, and that it is one operation.

use super::check;
use expect_test::expect;

#[test]
fn a_name_is_taken_back_from_a_holder_of_no_account_or_of_another_one() {
    check(
        "
        ~10:00:00 a create s1
        10:00:01 a join s1 luis
        10:00:02 a send s1 luis
        10:00:03 a join s1 luis secret=2 account=luis takes
        10:00:04 a read s1 luis:3
        10:00:05 a join s1 luis secret=3 account=other takes
        10:00:06 a join s1 luis secret=4 account=luis takes=silent
        ",
        expect![[r#"
            5.1 a#2 s1 luis@1 joined: n 1, account none
            6.1 a#3 s1 luis@1 sent: n 2, type text of 10, 6 bytes, account none
            7.1 a#4 s1 luis@1 left: n 3, account none
            7.1 a#4 s1 luis@1 is nobody
            7.1 a#4 s1 luis@2 joined: n 4, account luis
            8.1 a#5 s1 read: luis@2 3
            9.1 a#6 s1 luis@2 left: n 5, account luis
            9.1 a#6 s1 luis@2 is nobody
            9.1 a#6 s1 luis@3 joined: n 6, account other
            10.1 a#7 s1 luis@3 left: n 7, account other
            10.1 a#7 s1 luis@3 is nobody
            10.1 a#7 s1 luis@4 joined: n 8, account luis
        "#]],
    );
}

#[test]
fn a_holder_of_the_same_account_keeps_it_unless_it_is_gone() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 anna
        10:00:02 a join s1 luis account=luis
        10:00:03 a join s1 luis secret=2 account=luis takes
        10:00:04 a join s1 luis secret=2 account=luis takes=refused
        10:00:05 a join s1 luis secret=3 account=luis takes=silent
        10:00:06 a leave s1 luis
        10:00:07 a join s1 luis secret=4 account=luis takes
        ",
        expect![[r#"
            6.1 a#3 s1 luis@2 joined: n 2, account luis
            7.1 a#4 rejected: session_name_taken
            8.1 a#5 s1 luis@2 left: n 3, account luis
            8.1 a#5 s1 luis@2 is nobody
            8.1 a#5 s1 luis@3 joined: n 4, account luis
            9.1 a#6 s1 luis@3 left: n 5, account luis
            9.1 a#6 s1 luis@3 is nobody
            9.1 a#6 s1 luis@4 joined: n 6, account luis
            10.1 a#7 s1 luis@4 left: n 7, account luis
            11.1 a#8 s1 luis@4 is nobody
            11.1 a#8 s1 luis@5 joined: n 8, account luis
        "#]],
    );
}

#[test]
fn without_the_doors_word_or_without_an_account_nothing_is_taken_back() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 anna
        ~10:00:02 a join s1 luis
        10:00:03 a join s1 luis secret=2 account=luis
        10:00:04 a join s1 luis secret=2 takes=refused
        10:00:05 a leave s1 luis
        10:00:06 a join s1 luis secret=2 account=luis
        10:00:07 a join s1 luis secret=2 takes
        10:00:08 a join s1 luis secret=2 account=luis takes
        ",
        expect![[r#"
            7.1 a#4 rejected: session_name_taken
            8.1 a#5 rejected: session_name_taken
            9.1 a#6 s1 luis@2 left: n 3, account none
            10.1 a#7 rejected: session_name_taken
            11.1 a#8 rejected: session_name_taken
            12.1 a#9 s1 luis@2 is nobody
            12.1 a#9 s1 luis@3 joined: n 4, account luis
        "#]],
    );
}

#[test]
fn where_the_name_is_free_there_is_nothing_to_take_back() {
    check(
        "
        ~10:00:00 a create s1
        10:00:01 a join s1 luis account=luis takes=refused
        ",
        expect![[r#"
            5.1 a#2 s1 luis@1 joined: n 1, account luis
        "#]],
    );
}

#[test]
fn the_former_holder_s_link_is_nobody_s_and_the_new_one_begins_at_nothing() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        ~10:00:02 a read s1 luis:1
        10:00:03 a join s1 luis secret=2 account=luis takes
        10:00:04 a send s1 @1
        10:00:05 a rejoin s1 @1
        10:00:06 a leave s1 @1
        10:00:07 a account s1 @1
        10:00:08 a read s1 @1:3,luis:1
        10:00:09 a join s1 eva secret=2
        10:00:10 a send s1 luis
        ",
        expect![[r#"
            7.1 a#4 s1 luis@1 left: n 2, account none
            7.1 a#4 s1 luis@1 is nobody
            7.1 a#4 s1 luis@2 joined: n 3, account luis
            8.1 a#5 rejected: unknown_participant
            9.1 a#6 rejected: unknown_participant
            10.1 a#7 rejected: unknown_participant
            11.1 a#8 rejected: unknown_participant
            12.1 a#9 s1 read: luis@2 1
            13.1 a#10 rejected: session_secret_taken
            14.1 a#11 s1 luis@2 sent: n 4, type text of 10, 6 bytes, account luis
        "#]],
    );
}

#[test]
fn taking_back_from_the_only_one_does_not_end_the_session_and_asks_nobody() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        10:00:02 a join s1 luis secret=2 account=luis takes
        ~10:00:03 a create s2 owned
        ~10:00:04 a join s2 luis account=luis
        ~10:00:05 a touch s2 waiting
        10:00:06 a join s2 luis secret=2 account=luis takes=refused
        ~7d10:00:05 tick
        7d10:00:05.999999 tick
        7d10:00:06 tick
        ",
        expect![[r#"
            6.1 a#3 s1 luis@1 left: n 2, account none
            6.1 a#3 s1 luis@1 is nobody
            6.1 a#3 s1 luis@2 joined: n 3, account luis
            10.1 a#7 s2 luis@1 left: n 2, account luis
            10.1 a#7 s2 luis@1 is nobody
            10.1 a#7 s2 luis@2 joined: n 3, account luis
            12 nothing
            13.0 s2 asked about: attempt 1 by a, nobody_received
        "#]],
    );
}
