//! English.

use super::{Closing, Code, Consent, General, Grants, Problem, Problems, Sentence, Texts};
use crate::clock::Timestamp;
use crate::domain::grant::EndedBy;

pub(super) static TEXTS: Texts = Texts {
    general: General {
        day,
        instant,
        back_to: |brand| match brand {
            Some(brand) => Sentence::new().plain("Back to ").name(brand),
            None => Sentence::new().plain("Back to your sign-in"),
        },
        back_to_agent: "You can go back to your agent.",
        needs_permission: |scopes| format!("I need your permission for this: {}.", scopes.join("; ")),
        your_grants: "See what you have allowed",
    },
    consent: Consent {
        title: |brand| format!("Allow an agent to act on your {brand} account?"),
        asks: |agent, origin, brand| {
            Sentence::new()
                .strong(agent)
                .plain(" (")
                .address(origin)
                .plain(") asks to act on your ")
                .name(brand)
                .plain(" account")
        },
        asks_by_origin: |origin, brand| {
            Sentence::new()
                .plain("The agent at ")
                .strong(origin)
                .plain(" asks to act on your ")
                .name(brand)
                .plain(" account")
        },
        signed_in_as: |who| Sentence::new().plain("Signed in as ").strong(who),
        not_you: "Not you?",
        code_must_be: |code| Sentence::new().plain("If your agent shows a code, it must be ").code(code).plain("."),
        asked: |minutes| format!("Asked {}.", ago(minutes)),
        asked_in_conversation: |minutes| format!("Asked {}, while you talked to your agent.", ago(minutes)),
        not_started: "If you did not start this, do not allow it.",
        other_sub: |agent, brand| {
            Sentence::new()
                .plain("Take care: ")
                .name(agent)
                .plain(" already acts on this ")
                .name(brand)
                .plain(" account for another of its users. Go on only if you know who that is.")
        },
        changed: "What this agent may do has changed since you opened the page. Nothing was decided. Please look again.",
        requested: |agent| Sentence::new().name(agent).plain(" wants to"),
        allowed: "Already allowed",
        allowed_hint: "Untick what you want to take back.",
        writes: "can make changes",
        allow: "Allow",
        allow_count: "Allow {ticked} of {all}",
        allow_none: "Allow nothing",
        deny: "Don’t allow",
        lasts: |until| format!("What you allow lasts until {until}."),
        take_back: |brand| {
            Sentence::new().plain("You can take it back at any time, at ").name(brand).plain(" or through your agent.")
        },
    },
    code: Code {
        title: "Enter the code from your agent",
        lead: |brand| {
            Sentence::new().plain("Next you sign in at ").name(brand).plain(" and see what your agent asks for.")
        },
        label: "Code",
        hint: "Eight letters. Dashes and capitals do not matter.",
        invalid: "A code has exactly eight letters and no vowels. Please compare it with the one your agent shows.",
        go_on: "Go on to sign in",
        not_yours: "Enter only a code that your own agent shows you, never one that somebody sent you.",
    },
    closing: Closing {
        approved: "Allowed",
        approved_list: |agent, brand| {
            Sentence::new().strong(agent).plain(" may now do this on your ").name(brand).plain(" account:")
        },
        denied: "Not allowed",
        denied_text: |agent, brand| {
            Sentence::new()
                .plain("Nothing new was allowed. ")
                .strong(agent)
                .plain(" got nothing of what it asked for on your ")
                .name(brand)
                .plain(" account.")
        },
        ended: "Access ended",
        ended_text: |agent, brand| {
            Sentence::new()
                .plain("You left nothing ticked. ")
                .strong(agent)
                .plain(" can no longer act on your ")
                .name(brand)
                .plain(" account.")
        },
    },
    grants: Grants {
        title: |brand| format!("Agents on your {brand} account"),
        none: |brand| Sentence::new().plain("No agent may act on your ").name(brand).plain(" account."),
        since: |day| format!("Allowed since {day}."),
        until: |day| format!("Ends on {day}."),
        may: "What it may do",
        did: "What it did",
        did_nothing: "Nothing so far.",
        deed,
        older: "Show more",
        revoke: "Revoke",
        question: |agent, brand| {
            Sentence::new()
                .plain("Take back everything that ")
                .strong(agent)
                .plain(" may do on your ")
                .name(brand)
                .plain(" account? It ends at once, and the agent has to ask you again.")
        },
        revoke_now: "Yes, revoke",
        revoked: |agent, brand, at| {
            let ended = Sentence::new().strong(agent).plain(" can no longer act on your ").name(brand);
            ended.plain(&format!(" account. This took effect on {at}."))
        },
        changed: "What this agent may do has changed since you opened the page. Nothing was revoked. Please look again.",
        has_more: "There are more agents than stand here. They move up as you revoke others.",
        past: "No longer allowed",
        ended: |by, day| match by {
            EndedBy::User => format!("You took it back on {day}."),
            EndedBy::PersonalAgent => format!("The agent gave it up on {day}."),
            EndedBy::Administrator => format!("It was ended for you on {day}."),
            EndedBy::BrandChange => format!("It is no longer offered since {day}."),
            EndedBy::Expiry => format!("It ran out on {day}."),
        },
        all: "All agents",
    },
    problems: Problems {
        sign_in_not_verified: Problem {
            title: "Your sign-in could not be verified",
            happened: "The message about your sign-in was not valid, was too old, or had been used before.",
            allowed: "Nothing was allowed.",
            next: "Please sign in again.",
        },
        code_not_usable: Problem {
            title: "This code cannot be used",
            happened: "It does not exist, has run out, or has been decided on before.",
            allowed: "Nothing was allowed just now.",
            next: "Compare it with the code your agent shows, or ask your agent for a new link.",
        },
        too_many_tries: Problem {
            title: "Too many tries",
            happened: "There were too many tries from here in a short time.",
            allowed: "Nothing was allowed.",
            next: "Wait a few minutes, then try again with the link or the code from your agent.",
        },
        too_many_requests: Problem {
            title: "One moment, please",
            happened: "More pages were asked for from your network than we answer at once.",
            allowed: "Nothing was allowed just now.",
            next: "Wait a few seconds, then load this page again.",
        },
        page_not_usable: Problem {
            title: "Your decision was not accepted",
            happened: "It came from a page that has run out, belongs to another sign-in, or is not ours.",
            allowed: "Nothing was allowed.",
            next: "Please sign in again, then decide.",
        },
        expired: Problem {
            title: "The time to decide has run out",
            happened: "What your agent asked for was open for a few minutes only, and they are over.",
            allowed: "Nothing was allowed.",
            next: "Ask your agent to start again. You get a new link.",
        },
        already_allowed: Problem {
            title: "You have already allowed this",
            happened: "This request was decided on before, perhaps in another window.",
            allowed: "What you ticked then is allowed. Nothing was changed just now.",
            next: "You can go back to your agent. If it was not you who allowed this, take it back now.",
        },
        already_denied: Problem {
            title: "This was not allowed",
            happened: "This request was decided on before, perhaps in another window, and it was refused.",
            allowed: "Nothing was allowed.",
            next: "If you want to allow it after all, ask your agent to start again.",
        },
        bad_request: Problem {
            title: "Your decision could not be read",
            happened: "What arrived here is not what the page offered.",
            allowed: "Nothing was allowed.",
            next: "Go back, look at the page again, and decide there.",
        },
        not_found: Problem {
            title: "There is no such page",
            happened: "Nothing is served at this address.",
            allowed: "Nothing was allowed.",
            next: "Check the address, or open the link from your agent again.",
        },
        busy: Problem {
            title: "We cannot answer right now",
            happened: "The service is too busy or is being looked after.",
            allowed: "Nothing was allowed.",
            next: "Please try again in a minute.",
        },
        internal: Problem {
            title: "Something went wrong on our side",
            happened: "The fault is ours, and it has been recorded.",
            allowed: "We cannot say whether your decision was kept. Nothing that you had not ticked was allowed.",
            next: "Go back to your agent. If it still waits for you, open its link again.",
        },
    },
};

fn ago(minutes: u64) -> String {
    match minutes {
        0 => "less than a minute ago".to_owned(),
        1 => "1 minute ago".to_owned(),
        _ => format!("{minutes} minutes ago"),
    }
}

fn deed(tools: &[String], scopes: &[String]) -> Sentence {
    match (tools, scopes) {
        ([], []) => Sentence::new().plain("Answered a message."),
        ([], scopes) => Sentence::new().plain("Used: ").name(&scopes.join("; ")).plain("."),
        (tools, []) => Sentence::new().plain("Did: ").name(&tools.join(", ")).plain("."),
        (tools, scopes) => {
            let did = Sentence::new().plain("Did: ").name(&tools.join(", "));
            did.plain(". Used: ").name(&scopes.join("; ")).plain(".")
        }
    }
}

fn instant(at: Timestamp) -> String {
    let utc = at.to_utc();
    utc.map_or_else(|| at.to_rfc3339(), |utc| format!("{}, {:02}:{:02} UTC", day(at), utc.hour(), utc.minute()))
}

fn day(at: Timestamp) -> String {
    at.to_utc().map_or_else(|| at.to_rfc3339(), |utc| format!("{} {} {}", utc.day(), utc.month(), utc.year()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_counted_in_words() {
        assert_eq!((TEXTS.consent.asked)(0), "Asked less than a minute ago.");
        assert_eq!((TEXTS.consent.asked)(1), "Asked 1 minute ago.");
        assert_eq!((TEXTS.consent.asked)(2), "Asked 2 minutes ago.");
    }

    #[test]
    fn a_day_is_written_with_the_name_of_its_month() {
        assert_eq!((TEXTS.general.day)(Timestamp::from_seconds(1_793_404_800)), "31 October 2026");
        assert_eq!((TEXTS.general.instant)(Timestamp::from_seconds(1_793_405_105)), "31 October 2026, 00:05 UTC");
    }
}
