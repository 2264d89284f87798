//! The scripted shop: an agent without a model, for the demo, the tests and a first try at the protocol.
//!
//! It tells apart a few words of English and answers always alike. It refuses to look into or change an account without
//! the scopes for it, and asks for them (PACT §5.5).

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::domain::scope::{ScopeId, ScopeSet};
use crate::protocol::agent::{Action, TextPart, Turn, TurnAnswer};

const READ: &str = "orders:read";
const CANCEL: &str = "orders:cancel";
const REFUND: &str = "refunds:issue";

/// An order of the shop, where everybody has bought the same.
struct Order {
    number: &'static str,
    what: &'static str,
    state: &'static str,
    shipped: bool,
    amount: &'static str,
}

const OPEN: Order = Order {
    number: "A-88213",
    what: "a teapot",
    state: "is packed and ships tomorrow",
    shipped: false,
    amount: "49.00",
};

const DELIVERED: Order =
    Order { number: "A-88107", what: "green tea", state: "was delivered", shipped: true, amount: "18.50" };

const ORDERS: [Order; 2] = [OPEN, DELIVERED];

/// What a message asks for, as far as its words tell.
struct Wish {
    bye: bool,
    cancel: bool,
    refund: bool,
    orders: bool,
    number: Option<String>,
}

impl Wish {
    fn of(turn: &Turn) -> Self {
        let text: Vec<&str> = turn.parts.iter().map(|part| part.text.as_str()).collect();
        let text = text.join(" ").to_lowercase();
        let edge = |symbol: char| !symbol.is_alphanumeric();
        let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(edge)).collect();
        let says = |start: &str| words.iter().any(|word| word.starts_with(start));
        let number = words.iter().find(|word| is_order_number(word)).map(|word| word.to_uppercase());
        Self {
            bye: words.contains(&"bye") || says("goodbye"),
            cancel: says("cancel"),
            refund: says("refund"),
            orders: says("order") || number.is_some(),
            number,
        }
    }

    fn needs(&self) -> ScopeSet {
        let touches = self.cancel || self.refund || self.orders;
        let wanted = [(READ, touches), (CANCEL, self.cancel), (REFUND, self.refund)];
        scopes(wanted.into_iter().filter_map(|(id, wanted)| wanted.then_some(id)))
    }

    /// The order that is meant: the one that is named, or else the one that is open.
    fn order(&self) -> Option<&'static Order> {
        match &self.number {
            Some(number) => ORDERS.iter().find(|order| order.number == number),
            None => Some(&OPEN),
        }
    }
}

/// `A-88213`: a letter, a dash and digits.
fn is_order_number(word: &str) -> bool {
    word.split_once('-').is_some_and(|(letter, digits)| {
        letter.len() == 1
            && letter.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn scopes<'a>(ids: impl IntoIterator<Item = &'a str>) -> ScopeSet {
    ids.into_iter().filter_map(|id| ScopeId::parse(id).ok()).collect()
}

fn action(tool: &str, args: Option<Value>) -> Action {
    Action { tool: tool.to_owned(), args, args_hash: None }
}

/// Answers one turn. It depends on nothing but the turn.
pub fn answer(turn: &Turn) -> TurnAnswer {
    let wish = Wish::of(turn);
    if wish.bye {
        return TurnAnswer { close: true, ..TurnAnswer::text("Goodbye, and thank you.") };
    }
    let needs = wish.needs();
    if needs.is_empty() {
        return TurnAnswer::text("Hello, this is the shop. What is your order number?");
    }
    let Some(delegation) = &turn.delegation else {
        return without_account(&wish);
    };
    let missing = needs.without(&delegation.scopes);
    if !missing.is_empty() {
        let text = format!("I need permission to {}.", in_words(&missing));
        return TurnAnswer { missing_scopes: missing, ..TurnAnswer::text(text) };
    }
    with_account(&wish)
}

fn in_words(missing: &ScopeSet) -> String {
    let words = missing.iter().map(|id| match id.as_str() {
        READ => "look up your orders",
        CANCEL => "cancel orders",
        REFUND => "issue refunds",
        other => other,
    });
    words.collect::<Vec<_>>().join(" and to ")
}

/// What the shop says to somebody it knows by an order number at most (PACT §3.3).
fn without_account(wish: &Wish) -> TurnAnswer {
    if wish.cancel || wish.refund {
        return TurnAnswer::text("To change an order I need you to connect your account first.");
    }
    TurnAnswer::text(match (&wish.number, wish.order()) {
        (None, _) => "Connect your account, or tell me your order number.".to_owned(),
        (Some(_), Some(order)) => format!("Order {} {}.", order.number, order.state),
        (Some(number), None) => format!("There is no order {number}."),
    })
}

/// What the shop does for somebody whose account it may use.
fn with_account(wish: &Wish) -> TurnAnswer {
    let looked_up = |text: String| TurnAnswer {
        parts: vec![TextPart::new(text)],
        scopes_used: scopes([READ]),
        actions: vec![action("lookup_orders", None)],
        ..TurnAnswer::text("")
    };
    let Some(order) = wish.order() else {
        return looked_up(format!("I found no order {}.", wish.number.as_deref().unwrap_or_default()));
    };
    if !wish.cancel && !wish.refund {
        let lines = ORDERS.iter().filter(|order| wish.number.as_deref().is_none_or(|number| order.number == number));
        let lines = lines.map(|order| format!("Order {} ({}) {}.", order.number, order.what, order.state));
        return looked_up(lines.collect::<Vec<_>>().join(" "));
    }
    if wish.cancel && order.shipped {
        return looked_up(format!("Order {} {} and can no longer be cancelled.", order.number, order.state));
    }
    let mut answer = looked_up(String::new());
    let mut text = String::new();
    if wish.cancel {
        let _ = write!(text, "Order {} is cancelled. ", order.number);
        answer.actions.push(action("cancel_order", Some(json!({ "order": order.number }))));
    }
    if wish.refund {
        let _ = write!(text, "EUR {} for order {} is on its way back to you. ", order.amount, order.number);
        answer.actions.push(action("issue_refund", Some(json!({ "order": order.number, "amount": order.amount }))));
    }
    answer.parts = vec![TextPart::new(text.trim_end())];
    answer.scopes_used = wish.needs();
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::agent::{TurnCaller, TurnDelegation};

    fn turn(text: &str, allowed: Option<&str>) -> Turn {
        Turn {
            brand_id: "01M3R53Q5SZQ6FQSMSDBSSREAA".to_owned(),
            context_id: "c".to_owned(),
            message_id: "m".to_owned(),
            parts: vec![TextPart::new(text)],
            caller: TurnCaller { personal_agent: "https://pa.example.com".to_owned(), sub: "user".to_owned() },
            delegation: allowed.map(|scopes| TurnDelegation {
                user: "jane-4471".to_owned(),
                scopes: ScopeSet::parse(scopes).unwrap(),
                grant_id: "a2agrant_1".to_owned(),
                token: None,
            }),
        }
    }

    fn ask(text: &str, allowed: Option<&str>) -> TurnAnswer {
        let answer = answer(&turn(text, allowed));
        answer.check().unwrap();
        answer
    }

    fn tools(answer: &TurnAnswer) -> Vec<&str> {
        answer.actions.iter().map(|action| action.tool.as_str()).collect()
    }

    #[test]
    fn a_greeting_needs_no_account_and_asks_for_the_order_number() {
        for text in ["hello", "I need help", "", "🫖"] {
            let answer = ask(text, None);
            assert!(answer.parts[0].text.contains("order number"));
            assert!(answer.actions.is_empty() && !answer.close && !answer.is_step_up());
        }
    }

    #[test]
    fn a_goodbye_closes_the_conversation() {
        assert!(ask("Bye!", None).close);
        assert!(ask("ok, goodbye", Some("orders:read")).close);
    }

    #[test]
    fn orders_are_listed_under_the_scope_to_read_them() {
        let answer = ask("Where is my order?", Some("orders:read"));
        assert_eq!(answer.scopes_used.to_string(), "orders:read");
        assert_eq!(tools(&answer), ["lookup_orders"]);
        assert!(answer.parts[0].text.contains("A-88213") && answer.parts[0].text.contains("A-88107"));
    }

    #[test]
    fn an_order_is_cancelled_under_both_scopes() {
        for text in ["Cancel order A-88213", "please cancel my order", "cancel order #a-88213."] {
            let answer = ask(text, Some("orders:read orders:cancel"));
            assert_eq!(answer.scopes_used.to_string(), "orders:read orders:cancel");
            assert_eq!(tools(&answer), ["lookup_orders", "cancel_order"]);
            assert_eq!(answer.actions[1].args, Some(json!({ "order": "A-88213" })), "{text}");
        }
    }

    #[test]
    fn a_refund_names_the_order_and_the_amount() {
        let answer = ask("refund order A-88107", Some("refunds:issue orders:read"));
        assert_eq!(tools(&answer), ["lookup_orders", "issue_refund"]);
        assert_eq!(answer.actions[1].args, Some(json!({ "order": "A-88107", "amount": "18.50" })));
        let both = ask("Cancel and refund order A-88213", Some("orders:read orders:cancel refunds:issue"));
        assert_eq!(tools(&both), ["lookup_orders", "cancel_order", "issue_refund"]);
    }

    #[test]
    fn what_lacks_a_scope_is_asked_for_and_nothing_is_done() {
        let answer = ask("refund order A-88213", Some("orders:read"));
        assert_eq!(answer.missing_scopes.to_string(), "refunds:issue");
        assert_eq!(answer.parts[0].text, "I need permission to issue refunds.");
        assert!(answer.actions.is_empty() && answer.scopes_used.is_empty());
        let answer = ask("cancel order A-88213", Some(""));
        assert_eq!(answer.missing_scopes.to_string(), "orders:read orders:cancel");
    }

    #[test]
    fn what_cannot_be_done_is_said_and_only_looked_up() {
        for text in ["cancel order A-88107", "refund order A-99999"] {
            let answer = ask(text, Some("orders:read orders:cancel refunds:issue"));
            assert_eq!(tools(&answer), ["lookup_orders"], "{text}");
            assert_eq!(answer.scopes_used.to_string(), "orders:read");
        }
    }

    #[test]
    fn without_an_account_nothing_is_changed_or_asked_for() {
        for text in ["cancel order A-88213", "refund me", "where are my orders", "order A-88213", "order B-1"] {
            let answer = ask(text, None);
            assert!(!answer.is_step_up() && answer.actions.is_empty() && answer.scopes_used.is_empty(), "{text}");
        }
    }
}
