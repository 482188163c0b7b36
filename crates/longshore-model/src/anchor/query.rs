//! Questions of the hub to an anchor that concern no session, each with the type of its answer.
//!
//! A question is a struct and one line in the table at the end of this file. The table generates [`Query`]
//! and [`Answer`], which cross the wire. The hub's `ask` returns an answer of the type in the table. The
//! anchor has one match arm for each question to its machine. Drivers get only the questions to their agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::repository::{RepositoryQuery, RepositoryView};
use crate::capability::{AgentInfo, ModelInfo};
use crate::event::{AgentName, Raw};
use crate::host_io::{Exit, HostFault};
use crate::lifecycle::{GitState, NativeId};
use crate::time::Timestamp;

/// A question, with the type of its answer.
pub trait AnchorQuery: Into<Query> {
    /// The type of the answer.
    type Answer;

    /// The content of the answer; `None` if it is the answer to another question.
    fn answer(answer: Answer) -> Option<Self::Answer>;
}

/// Which agents are there?
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentsQuery {
    /// Only this agent. The anchor starts no program for this question, so the answer may lack the agent's
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<AgentName>,
}

/// A machine that runs agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The name of the machine.
    pub name: String,
    /// The agents that the anchor knows, installed or not.
    pub agents: Vec<AgentInfo>,
}

/// In which state is this work tree? `None` if it is no work tree of git.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GitQuery {
    /// The work tree.
    pub cwd: String,
}

/// Which conversations from elsewhere are there? The anchor reports the new ones before its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PastQuery {}

/// The number of conversations from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastCount {
    /// The number of conversations.
    pub found: u64,
    /// The number of conversations that the hub has yet to read, or to read further.
    pub unread: u64,
}

/// Why can no agent work in this folder? The answer is for people; `None` if an agent can work there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkTreeQuery {
    /// An absolute path.
    pub path: String,
}

/// How large is the agent's own record of this conversation now? `None` if the agent keeps no record that the
/// anchor can read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordSizeQuery {
    /// The agent.
    pub agent: AgentName,
    /// The agent's id of the conversation.
    pub native: NativeId,
}

/// Which folders are in this folder?
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoldersQuery {
    /// An absolute path. None: the folder where people begin.
    pub path: Option<String>,
}

/// A folder of a machine, for people who look for a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Folders {
    /// The path of the folder.
    pub path: String,
    /// The parent folder; none at the top.
    pub parent: Option<String>,
    /// The names of the subfolders, in order, without hidden folders.
    pub folders: Vec<String>,
}

/// What is in this text file of a work tree? A client asks, not an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileQuery {
    /// The work tree. The file must be inside of it, also through links.
    pub root: String,
    /// The path of the file.
    pub path: String,
    /// The first line, from 1.
    pub line: Option<u64>,
    /// How many lines.
    pub limit: Option<u64>,
}

/// Write this text file of a work tree, and create its folders. A client asks, not an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileWrite {
    /// The work tree. The file must be inside of it, also through links.
    pub root: String,
    /// The path of the file.
    pub path: String,
    /// The whole content.
    pub content: String,
}

/// Run this command in a work tree, and end it with all that it started when its time is over. A client asks,
/// not an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunQuery {
    /// The work tree.
    pub root: String,
    /// A program, or a shell line if there are no arguments.
    pub command: String,
    /// The arguments.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
    /// The folder, inside of the work tree; none for the work tree itself.
    pub cwd: Option<String>,
    /// How many bytes of the output to keep: the last ones.
    pub keep: u64,
    /// How long the command may take, in milliseconds.
    pub within_ms: u64,
}

/// A command that a client ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The end of the output.
    pub output: String,
    /// Whether the beginning of the output is left out.
    pub truncated: bool,
    /// How the command ended.
    pub exit: Exit,
    /// Whether the command was ended because its time was over.
    pub overdue: bool,
}

/// Which models does this agent have?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelsQuery {
    /// The agent.
    pub agent: AgentName,
    /// Whether the agent must start a new process for the answer. Earlier answers and running processes do
    /// not count then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anew: bool,
}

/// Which conversations does this agent remember? If the agent orders them, the one that changed last comes
/// first. A page may repeat conversations of the previous page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionsQuery {
    /// The agent.
    pub agent: AgentName,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// The most conversations of the page.
    pub limit: u32,
}

/// A page of the conversations that an agent remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeSessions {
    /// The conversations.
    pub sessions: Vec<NativeSession>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// A conversation that an agent remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeSession {
    /// The agent's id of the conversation.
    pub native: NativeId,
    /// The title, or the beginning of the conversation.
    pub title: String,
    /// The work tree.
    pub cwd: Option<String>,
    /// When the conversation began.
    pub created_at: Option<Timestamp>,
    /// When the conversation last changed.
    pub updated_at: Option<Timestamp>,
    /// The agent's id of the conversation that delegated work to this conversation.
    pub parent: Option<NativeId>,
}

/// What was said in a conversation that this agent remembers? The last page comes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessagesQuery {
    /// The agent.
    pub agent: AgentName,
    /// The agent's id of the conversation.
    pub native: NativeId,
    /// Where the page ends. None: the last page.
    pub cursor: Option<String>,
}

/// A page of what was said in a conversation that an agent remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeMessages {
    /// The messages in their order, in the agent's own form.
    pub messages: Vec<Raw>,
    /// Where the previous page ends; none if this is the first page.
    pub before: Option<String>,
}

impl AgentQuestion {
    /// The agent that answers the question.
    pub fn agent(&self) -> &AgentName {
        match self {
            AgentQuestion::Models(query) => &query.agent,
            AgentQuestion::Sessions(query) => &query.agent,
            AgentQuestion::Messages(query) => &query.agent,
        }
    }
}

/// Generates the closed vocabulary of the wire from a table of questions and answers.
macro_rules! vocabulary {
    (
        machine { $($here:ident: $asked_here:ident => $found:ty,)+ }
        agent { $($there:ident: $asked_there:ident => $told:ty,)+ }
    ) => {
        /// A question that concerns no session.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "query", rename_all = "snake_case")]
        pub enum Query {
            $(#[doc = concat!("See [`", stringify!($asked_here), "`].")] $here($asked_here),)+
            /// A question that only an agent can answer.
            Agent(AgentQuestion),
        }

        /// A question that an agent answers, not the machine of the agent.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "ask", rename_all = "snake_case")]
        pub enum AgentQuestion {
            $(#[doc = concat!("See [`", stringify!($asked_there), "`].")] $there($asked_there),)+
        }

        /// The answer to a [`Query`].
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "answer", content = "content", rename_all = "snake_case")]
        pub enum Answer {
            $(#[doc = concat!("To [`", stringify!($asked_here), "`].")] $here($found),)+
            $(#[doc = concat!("To [`", stringify!($asked_there), "`].")] $there($told),)+
        }

        $(impl From<$asked_here> for Query {
            fn from(query: $asked_here) -> Self {
                Query::$here(query)
            }
        })+

        $(impl From<$asked_there> for AgentQuestion {
            fn from(query: $asked_there) -> Self {
                AgentQuestion::$there(query)
            }
        }

        impl From<$asked_there> for Query {
            fn from(query: $asked_there) -> Self {
                Query::Agent(query.into())
            }
        })+

        vocabulary!(answers $($here: $asked_here => $found,)+ $($there: $asked_there => $told,)+);
    };
    (answers $($name:ident: $asked:ident => $answer:ty,)+) => {
        $(impl AnchorQuery for $asked {
            type Answer = $answer;

            fn answer(answer: Answer) -> Option<$answer> {
                if let Answer::$name(found) = answer { Some(found) } else { None }
            }
        })+
    };
}

vocabulary! {
    machine {
        Agents: AgentsQuery => Machine,
        Git: GitQuery => Option<GitState>,
        Past: PastQuery => PastCount,
        WorkTree: WorkTreeQuery => Option<String>,
        RecordSize: RecordSizeQuery => Option<u64>,
        Folders: FoldersQuery => Folders,
        Repository: RepositoryQuery => RepositoryView,
        File: FileQuery => Result<String, HostFault>,
        WriteFile: FileWrite => Result<(), HostFault>,
        Run: RunQuery => Result<CommandRun, HostFault>,
    }
    agent {
        Models: ModelsQuery => Vec<ModelInfo>,
        Sessions: SessionsQuery => NativeSessions,
        Messages: MessagesQuery => NativeMessages,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every question and every answer survives the wire unchanged.
    #[test]
    fn questions_and_answers_cross_a_wire() {
        let queries = [
            Query::from(AgentsQuery::default()),
            PastQuery {}.into(),
            FoldersQuery::default().into(),
            ModelsQuery { agent: "codex".into(), anew: true }.into(),
            RunQuery { command: "ls".to_owned(), ..RunQuery::default() }.into(),
        ];
        for query in queries {
            let json = serde_json::to_string(&query).unwrap();
            assert_eq!(serde_json::from_str::<Query>(&json).unwrap(), query, "{json}");
        }
        let answers = [
            Answer::Git(None),
            Answer::Models(Vec::new()),
            Answer::RecordSize(Some(7)),
            Answer::WorkTree(None),
            Answer::File(Err(HostFault::Missing("a".to_owned()))),
            Answer::WriteFile(Ok(())),
            Answer::Run(Ok(CommandRun { output: "x".to_owned(), ..CommandRun::default() })),
        ];
        for answer in answers {
            let json = serde_json::to_string(&answer).unwrap();
            assert_eq!(serde_json::from_str::<Answer>(&json).unwrap(), answer, "{json}");
        }
    }

    #[test]
    fn an_answer_answers_its_own_question_only() {
        assert_eq!(RecordSizeQuery::answer(Answer::RecordSize(Some(7))), Some(Some(7)));
        assert_eq!(RecordSizeQuery::answer(Answer::WorkTree(None)), None);
    }
}
