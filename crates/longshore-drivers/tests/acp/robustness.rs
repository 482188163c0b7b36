//! Recordings that break off, are mangled or out of order: nothing panics, nothing is dropped, and the session that
//! hears them is one that could be.

use longshore_drivers::acp::replay::AcpPlayer;
use longshore_drivers::capture::Player;
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;

use super::HEARD;

#[test]
fn every_prefix_of_a_recording_leaves_a_session_that_could_be() {
    HEARD.may_stop_anywhere();
}

/// Wherever a recording stops, an agent that then says nothing leaves nobody waiting for it.
#[test]
fn silence_ends_every_wait() {
    HEARD.waits_end_in_silence(|capture| AcpPlayer::new(&capture.agent), |player, _| stir(player));
}

/// Every session tells its agent all that it can, and has its turns stopped.
fn stir(player: &mut AcpPlayer) {
    for session in player.live() {
        player.tell(session, AgentCommand::SetMode(Mode::Full));
        player.tell(session, AgentCommand::SetModel("m".to_owned()));
        player.tell(session, AgentCommand::Rename("title".to_owned()));
        player.tell(session, AgentCommand::Archive(true));
        player.wait(31.0);
        // Another prompt may have waited for the first.
        for _ in 0..3 {
            if let Some(turn) = player.turn(session) {
                player.tell(session, AgentCommand::Interrupt { turn });
                player.wait(31.0);
            }
        }
    }
}

#[test]
fn harmed_recordings_panic_nobody_and_are_kept() {
    HEARD.survives_harm();
}

#[test]
fn shuffled_recordings_panic_nobody_and_are_kept() {
    HEARD.survives_shuffling();
}

#[test]
fn any_line_at_all_is_kept() {
    HEARD.keeps_any_line();
}
