//! Connections that come and go while the controllers do.

use crate::attach::nothing_is_left;
use crate::machine::Machine;
use crate::wire::churn::churn;
use duetime_kernel::in_kernel;

#[test]
fn connections_and_attachments_come_and_go_and_leave_nothing() {
    let Some(_machine) = Machine::take("churn") else {
        return;
    };
    let before = in_kernel();
    assert!(before.is_empty(), "left by another: {before:?}");
    let churn = churn(1_000, 3);
    assert_eq!(churn.failed, Vec::<String>::new());
    assert!(churn.finished >= 1_000, "{churn:?}");
    // The last tenth has an attachment of its own.
    assert!(churn.under_control >= 100, "{churn:?}");
    assert!(churn.attachments >= 3, "{churn:?}");
    assert!(churn.marked > 0, "{churn:?}");
    assert!(churn.entries.0 > 0, "{churn:?}");
    assert_eq!(churn.entries.1, 0, "{churn:?}");
    assert_eq!(churn.complaints, Vec::<String>::new());
    nothing_is_left();
}
