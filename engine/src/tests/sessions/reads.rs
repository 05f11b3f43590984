//! Read positions.

use super::check;
use expect_test::expect;

#[test]
fn a_position_moves_forward_only_and_never_beyond_the_last_entry() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        ~10:00:02 a join s1 anna
        ~10:00:03 a send s1 luis
        10:00:04 a read s1 luis:2
        10:00:05 a read s1 luis:1
        10:00:06 a read s1 luis:2
        10:00:07 a read s1 luis:99
        10:00:08 a read s1 luis:3
        10:00:09 a send s1 anna
        10:00:10 a read s1 luis:18446744073709551615
        ",
        expect![[r#"
            8.1 a#5 s1 read: luis@1 2
            11.1 a#8 s1 read: luis@1 3
            13.1 a#10 s1 anna@2 sent: n 4, type text of 10, 6 bytes, account none
            14.1 a#11 s1 read: luis@1 4
        "#]],
    );
}

#[test]
fn many_move_at_once_and_whoever_is_not_in_is_passed_over() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        ~10:00:02 a join s1 anna
        ~10:00:03 a join s1 eva
        ~10:00:04 a leave s1 anna
        10:00:05 a read s1 eva:1,luis:2,anna:3,@9:1,eva:3,eva:2,luis:0
        10:00:06 a read s1 anna:1
        10:00:07 a read s2 luis:1
        ",
        expect![[r#"
            9.1 a#6 s1 read: luis@1 2, eva@3 3
            11.1 a#8 rejected: session_gone
        "#]],
    );
}
