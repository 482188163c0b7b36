//! What the app asks for.

use serde::de::DeserializeOwned;

use super::wire::{
    IndexParams, InitializeParams, LatestParams, PromptParams, ReadParams, RunParams, SessionNewParams,
    SessionParams, SetModeParams, ThreadsParams, TimelineParams, TitleParams, WriteParams,
};
use crate::kernel::rpc::RpcRequest;
use crate::problem::Problem;

/// A request of the app.
#[derive(Debug)]
pub(crate) enum AppRequest {
    Initialize(InitializeParams),
    NewSession(SessionNewParams),
    SetMode(SetModeParams),
    Prompt(PromptParams),
    Cancel(SessionParams),
    ReadFile(ReadParams),
    WriteFile(WriteParams),
    Run(RunParams),
    Threads(ThreadsParams),
    Latest(LatestParams),
    LatestTyped,
    Index(IndexParams),
    RecentSessions,
    Timeline(TimelineParams),
    DeleteSession(SessionParams),
    SetTitle(TitleParams),
    GetTitle(SessionParams),
    ClearTitle(SessionParams),
}

/// Reads a request. Members that nobody knows are left alone, because later apps send more of them.
pub(crate) fn read(request: &RpcRequest) -> Result<AppRequest, Problem> {
    Ok(match request.method.as_str() {
        "initialize" => AppRequest::Initialize(params(request)?),
        "session/new" => AppRequest::NewSession(params(request)?),
        "session/set_mode" => AppRequest::SetMode(params(request)?),
        "session/prompt" => AppRequest::Prompt(params(request)?),
        "session/cancel" => AppRequest::Cancel(params(request)?),
        "fs/read_text_file" => AppRequest::ReadFile(params(request)?),
        "fs/write_text_file" => AppRequest::WriteFile(params(request)?),
        "terminal/run" => AppRequest::Run(params(request)?),
        "threads/list" => AppRequest::Threads(params(request)?),
        "thread/load_latest" => AppRequest::Latest(params(request)?),
        "thread/load_latest_typed" => AppRequest::LatestTyped,
        "index.status" => AppRequest::Index(params(request)?),
        "tinyvex/history.recentSessions" => AppRequest::RecentSessions,
        "tinyvex/history.sessionTimeline" => AppRequest::Timeline(params(request)?),
        "tinyvex/history.deleteSession" => AppRequest::DeleteSession(params(request)?),
        "tinyvex/history.setSessionTitle" => AppRequest::SetTitle(params(request)?),
        "tinyvex/history.getSessionTitle" => AppRequest::GetTitle(params(request)?),
        "tinyvex/history.clearSessionTitle" => AppRequest::ClearTitle(params(request)?),
        other => return Err(Problem::no_method(other)),
    })
}

fn params<T: DeserializeOwned>(request: &RpcRequest) -> Result<T, Problem> {
    let read = request.input().read::<T>();
    read.map_err(|fault| Problem::invalid(format!("the parameters of {}: {fault}", request.method)))
}
