//! Running tools: each call has its own task, so no call delays the loop.

use std::sync::Arc;

use longshore_model::capability::Mode;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::OutsideEvent;
use crate::machine::MachineInput;
use crate::tools::{CallVerdict, Permit, Progress, ToolInvocation, ToolResult, Toolbox};

/// How many progress messages of a call may wait.
const PROGRESS: usize = 64;

/// Judges whether a call may run. The judge reads from the disk, so it runs on its own thread and does not delay the
/// loop.
pub(super) fn weigh(
    toolbox: Arc<Toolbox>,
    call: ToolInvocation,
    mode: Mode,
    tell: mpsc::Sender<OutsideEvent>,
) {
    tokio::spawn(async move {
        let id = call.id.clone();
        let weighed = tokio::task::spawn_blocking(move || {
            let verdict = toolbox.verdict(&call, mode);
            let preview = matches!(verdict, CallVerdict::Ask(_)).then(|| toolbox.preview(&call)).flatten();
            (verdict, preview)
        });
        let (verdict, preview) = weighed
            .await
            .unwrap_or_else(|error| (CallVerdict::Refuse(format!("it cannot be judged: {error}")), None));
        let _ = tell.send(OutsideEvent::To(MachineInput::Weighed { call: id, verdict, preview })).await;
    });
}

/// Runs a call. Returns the token that cancels it.
pub(super) fn run(
    toolbox: Arc<Toolbox>,
    call: ToolInvocation,
    permit: Permit,
    tell: mpsc::Sender<OutsideEvent>,
) -> CancellationToken {
    let cancel = CancellationToken::new();
    let (progress, mut progressed) = mpsc::channel(PROGRESS);
    let (id, token, teller) = (call.id.clone(), cancel.clone(), tell.clone());
    // A separate task, so that a call has a result even if its tool panics.
    let work = tokio::spawn(async move { toolbox.run(call, permit, progress, token).await });
    tokio::spawn(async move {
        while let Some(progress) = progressed.recv().await {
            let call = id.clone();
            let happened = match progress {
                Progress::Output(text) => OutsideEvent::To(MachineInput::Printed { call, text }),
                Progress::Ask(elicitation) => OutsideEvent::Elicits { call, elicitation },
            };
            if teller.send(happened).await.is_err() {
                return;
            }
        }
        let result =
            work.await.unwrap_or_else(|error| ToolResult::failed(format!("the tool broke: {error}")));
        let _ = tell.send(OutsideEvent::To(MachineInput::Ran { call: id, result: Box::new(result) })).await;
    });
    cancel
}
