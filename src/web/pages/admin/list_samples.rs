//! Samples of lists.

use super::{Action, Cell, Choice, Control, Field, Frame, Head, ListPage, Listing, Section, Tone, When, counted};
use crate::clock::Timestamp;
use crate::domain::page::Direction;

fn at(minutes: i64) -> Cell {
    Cell::Time(When::at(Timestamp::from_seconds(1_790_769_600 + minutes * 60)))
}

fn grant(last: char, state: &'static str, brand: &str, user: &str, agent: &str, used: Option<i64>) -> Vec<Cell> {
    let id = format!("a2agrant_01M3R53Q5SZQ6FQSMSDBSSREA{last}");
    vec![
        Cell::Id(id.clone(), Some(format!("/grants/{id}"))),
        Cell::State(state, if state == "live" { Tone::Good } else { Tone::Quiet }),
        Cell::Text(brand.to_owned()),
        Cell::Id(user.to_owned(), None),
        Cell::Link(agent.to_owned(), "/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com".to_owned()),
        at(-3_000),
        at(500_000),
        used.map_or(Cell::Nothing, at),
    ]
}

fn sorted(label: &'static str, sorted: Option<Direction>) -> Head {
    Head { address: Some("/grants?state=live&order=asc".to_owned()), sorted, ..Head::plain(label) }
}

fn field(name: &'static str, label: &'static str, value: &str, control: Control) -> Field {
    Field { name, label, value: value.to_owned(), control }
}

fn choices(all: &[&str]) -> Control {
    let choice = |value: &&str| Choice { value: (*value).to_owned(), label: (*value).to_owned() };
    let any = Choice { value: String::new(), label: "Any".to_owned() };
    Control::Choice(std::iter::once(any).chain(all.iter().map(choice)).collect())
}

fn grants() -> ListPage {
    let rows = vec![
        grant('A', "live", "Skyline Airways", "jane-4471", "Demo personal agent", Some(-12)),
        grant('B', "live", "Harbour Club", "member:90213", "Demo personal agent", None),
        grant('C', "ended", "Skyline Shop", "j.doe@example.com", "https://pa.other.example", Some(-2_000)),
        grant('D', "expired", "Skyline Airways", &"x".repeat(120), "Demo personal agent", Some(-90_000)),
    ];
    ListPage {
        frame: Frame::sample_in(Section::Grants),
        title: "Grants",
        lead: Some(format!("{} of {}", counted(1_214, "grant", "grants"), counted(3, "Brand", "Brands"))),
        actions: vec![Action { label: "Revoke all of these".to_owned(), address: "/grants/revoke".to_owned() }],
        path: "/grants",
        fields: vec![
            field("brand", "Brand", "", choices(&["Harbour Club", "Skyline Airways", "Skyline Shop"])),
            field("user", "User", "", Control::Text),
            field("personal_agent", "Personal agent (issuer)", "https://pa.example.com", Control::Text),
            field("state", "State", "live", choices(&["live", "expired", "ended"])),
            field("since", "Created from (UTC)", "2026-09-01T00:00:00", Control::Instant),
            field("until", "Created before (UTC)", "", Control::Instant),
        ],
        hidden: vec![("order", "asc".to_owned())],
        is_narrowed: true,
        listing: Listing {
            name: "Grants",
            heads: vec![
                Head::plain("Grant"),
                Head::plain("State"),
                Head::plain("Brand"),
                Head::plain("User"),
                Head::plain("Personal agent"),
                sorted("Created", Some(Direction::Descending)),
                sorted("Expires", None),
                sorted("Last used", None),
            ],
            rows,
            empty: "No grant fits.",
            first: Some("/grants".to_owned()),
            next: Some("/grants?cursor=0123456789ab.eyJzIjoiY3JlYXRlZCJ9".to_owned()),
            csv: Some("/grants.csv".to_owned()),
        },
    }
}

fn personal_agents() -> ListPage {
    let agent = |name: &str, issuer: &str, state: Cell, live: i64, brands: i64| {
        let address = "/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com".to_owned();
        vec![
            Cell::Link(name.to_owned(), address),
            Cell::Id(issuer.to_owned(), None),
            state,
            Cell::number(live),
            Cell::number(brands),
            at(-40_000),
        ]
    };
    let number = |label| Head { is_number: true, ..Head::plain(label) };
    let rows = vec![
        agent("Demo personal agent", "https://pa.example.com", Cell::State("enabled", Tone::Good), 12_140, 3),
        agent("Other agent", "https://pa.other.example", Cell::State("disabled", Tone::Bad), 0, 0),
    ];
    ListPage {
        frame: Frame::sample_in(Section::PersonalAgents),
        title: "Personal agents",
        lead: None,
        actions: vec![Action { label: "Register one".to_owned(), address: "/personal-agents/register".to_owned() }],
        path: "/personal-agents",
        fields: vec![
            field("search", "Name or issuer begins with", "", Control::Text),
            field("state", "State", "", choices(&["enabled", "disabled"])),
        ],
        hidden: Vec::new(),
        is_narrowed: false,
        listing: Listing {
            name: "Personal agents",
            heads: vec![
                sorted("Name", Some(Direction::Ascending)),
                Head::plain("Issuer"),
                Head::plain("State"),
                number("Live grants"),
                number("Brands"),
                sorted("Registered", None),
            ],
            rows,
            empty: "No personal agent fits.",
            first: None,
            next: None,
            csv: Some("/personal-agents.csv".to_owned()),
        },
    }
}

/// Every state, by name.
pub(super) fn states() -> Vec<(&'static str, ListPage)> {
    let (list, mut none) = (grants(), grants());
    none.lead = None;
    none.listing = Listing { rows: Vec::new(), first: None, next: None, csv: None, ..none.listing };
    vec![("grants", list), ("grants-none", none), ("personal-agents", personal_agents())]
}
