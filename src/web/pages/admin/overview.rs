//! The first page: how things stand, and what does not work.

use askama::Template;

use super::chart::{Chart, clock};
use super::key::brand_link;
use super::parts::{Block, Holds, Table, Value, counted, with_query};
use super::{Frame, Section, When, console_page, number, sampled};
use crate::domain::id::BrandId;
use crate::flow::admin::overview::{KeysOf, Standing};
use crate::web::pages::Page as _;

/// A number that an operator asks for first.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Figure {
    number: String,
    what: &'static str,
    /// Where to see them; none where there is no such list.
    href: Option<String>,
}

/// One hour in words.
#[derive(Clone, PartialEq, Eq, Debug)]
struct HourLine {
    hour: String,
    approved: i64,
    denied: i64,
}

/// The first page.
#[derive(Clone, PartialEq, Eq, Debug, Template)]
#[template(path = "admin/overview.html")]
pub struct OverviewPage {
    /// What stands around it.
    pub frame: Frame,
    figures: Vec<Figure>,
    charts: [Chart; 2],
    hours: Vec<HourLine>,
    blocks: Vec<Block>,
    since: When,
}

console_page!(OverviewPage, |_| "Overview".to_owned());

impl OverviewPage {
    /// The page of how things stand.
    pub fn new(frame: Frame, standing: &Standing) -> Self {
        let numbers = &standing.numbers;
        let hours = &numbers.hours;
        let figure = |count, what, href| Figure { number: number(count), what, href };
        let live = with_query("/grants", &[("state", "live")]);
        let mut blocks = vec![failing_keys(standing), agents(standing), waiting(standing)];
        blocks.extend(refusals(standing));
        Self {
            frame,
            figures: vec![
                figure(numbers.live.grants, "live grants", Some(live)),
                figure(numbers.live.brands, "Brands that have one", Some("/brands".to_owned())),
                figure(numbers.pending_codes, "device codes that wait for their User", None),
            ],
            charts: [
                Chart::draw("Approvals", "approvals", hours, |hour| hour.approved),
                Chart::draw("Denials", "denials", hours, |hour| hour.denied),
            ],
            hours: hours
                .iter()
                .map(|hour| HourLine { hour: clock(hour.from), approved: hour.approved, denied: hour.denied })
                .collect(),
            blocks,
            since: When::at(standing.since),
        }
    }

    /// Much goes on, and something does not work.
    pub fn sample() -> Self {
        Self::new(Frame::sample_in(Section::Overview), &sampled::standing())
    }

    /// Every state, by name.
    pub(in crate::web::pages) fn states() -> Vec<(&'static str, Self)> {
        let mut quiet = sampled::standing();
        quiet.refusals = Some(Vec::new());
        (quiet.failing_keys, quiet.agents, quiet.waiting) = (Vec::new(), Vec::new(), Vec::new());
        for hour in &mut quiet.numbers.hours {
            (hour.approved, hour.denied) = (0, 0);
        }
        let mut of_one = sampled::standing();
        of_one.refusals = None;
        of_one.failing_keys.clear();
        let page = |standing: &Standing| Self::new(Frame::sample_in(Section::Overview), standing);
        vec![("first", Self::sample()), ("quiet", page(&quiet)), ("of-one-brand", page(&of_one))]
    }
}

fn named(standing: &Standing, brand: &BrandId) -> Value {
    Value::Link(brand_link(standing.names.get(brand).map_or("", String::as_str), brand))
}

fn count(count: u64) -> Value {
    Value::Text(number(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn failing_keys(standing: &Standing) -> Block {
    let rows = standing.failing_keys.iter().map(|keys| {
        let whose = keys.of.iter().map(|owner| match owner {
            KeysOf::Brand(brand) => {
                format!("login of {}", standing.names.get(brand).map_or(brand.as_str(), String::as_str))
            }
            KeysOf::PersonalAgent(issuer) => format!("personal agent {issuer}"),
        });
        vec![Value::id(&keys.address), Value::Lines(whose.collect()), Value::instant(keys.failed_at)]
    });
    let table = Table {
        columns: vec!["Address", "Whose", "Failed last"],
        rows: rows.collect(),
        empty: "Every key set that this node asked for has loaded.",
    };
    let mut block = Block::new("Key sets that do not load", Holds::Table(table));
    block.hint = "On this node. Whoever depends on one is refused.";
    block
}

fn agents(standing: &Standing) -> Block {
    let rows = standing.agents.iter().map(|agent| {
        let counts = [agent.timed_out, agent.failed, agent.busy, agent.overreached, agent.answered];
        let mut row = vec![named(standing, &agent.brand)];
        row.extend(counts.map(count));
        row
    });
    let table = Table {
        columns: vec!["Brand", "Timed out", "Failed", "Busy", "Overreached", "Answered"],
        rows: rows.collect(),
        empty: "Every turn at an agent was answered.",
    };
    let mut block = Block::new("Agents that do not answer", Holds::Table(table));
    block.hint = "Turns on this node since its start.";
    block
}

fn waiting(standing: &Standing) -> Block {
    let rows = standing.waiting.iter().map(|waiting| {
        vec![
            named(standing, &waiting.brand),
            Value::Text(counted(waiting.events, "event")),
            Value::instant(waiting.since),
        ]
    });
    let table = Table {
        columns: vec!["Brand", "Waiting", "The earliest is of"],
        rows: rows.collect(),
        empty: "Every Brand was told of its grants.",
    };
    let mut block = Block::new("Events that wait", Holds::Table(table));
    block.hint = "What Brands are still to be told of their grants; on all nodes.";
    block
}

fn refusals(standing: &Standing) -> Option<Block> {
    let refusals = standing.refusals.as_ref()?;
    let mut refusals: Vec<_> = refusals.iter().filter(|refusal| refusal.count > 0).collect();
    refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.count));
    let rows = refusals.into_iter().map(|refusal| {
        let words = |name: &str| Value::Text(name.replace('_', " "));
        vec![words(refusal.credential.name()), words(refusal.reason), count(refusal.count)]
    });
    let table =
        Table { columns: vec!["Credential", "Why", "How often"], rows: rows.collect(), empty: "None was refused." };
    let mut block = Block::new("Refused authentications", Holds::Table(table));
    block.hint = "On this node since its start.";
    Some(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charts_are_pictures_with_a_title_and_stand_in_words_too() {
        let html = OverviewPage::sample().render().unwrap();
        assert_eq!(html.matches("<svg").count(), 2);
        assert_eq!(html.matches("role=\"img\" aria-labelledby=").count(), 2);
        assert_eq!(html.matches("<title id=").count(), 2);
        assert_eq!(html.matches("<th scope=\"row\">").count(), 24);
        assert!(html.contains("12\u{202f}480"));
    }

    #[test]
    fn what_belongs_to_the_provider_is_not_on_the_page_of_one_brand() {
        let states = OverviewPage::states();
        let html = states.iter().find(|(state, _)| *state == "of-one-brand").unwrap().1.render().unwrap();
        assert!(!html.contains("Refused authentications") && !html.contains("pa.example.com"));
    }
}
