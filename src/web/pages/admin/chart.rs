//! Bars as an SVG that the server draws: no script, no style attribute, and in words beside it.

use crate::clock::Timestamp;
use crate::store::Hour;

/// How high the drawing is, in its own units.
const HEIGHT: i64 = 48;
/// How wide a bar is, with the gap to the next.
const STEP: i64 = 10;
/// The gap.
const GAP: i64 = 2;

/// One bar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bar {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
}

/// What happened in each of some hours, drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Chart {
    /// What is counted.
    pub(super) heading: &'static str,
    /// The id of its title.
    pub(super) id: &'static str,
    /// The same in words.
    pub(super) words: String,
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) bars: Vec<Bar>,
}

impl Chart {
    /// Draws `counts`, one for each hour of `hours`, the present one last. An hour in which anything happened has a bar that
    /// can be seen.
    pub(super) fn draw(heading: &'static str, id: &'static str, hours: &[Hour], count: fn(&Hour) -> i64) -> Self {
        let most = hours.iter().map(count).max().unwrap_or_default();
        let mut bars = Vec::new();
        let mut x = 0;
        for hour in hours {
            let count = count(hour);
            if count > 0 && most > 0 {
                let height = (count.saturating_mul(HEIGHT) / most).max(1);
                bars.push(Bar { x, y: HEIGHT - height, width: STEP - GAP, height });
            }
            x += STEP;
        }
        let total: i64 = hours.iter().map(count).sum();
        let at_most = hours.iter().rev().find(|hour| count(hour) == most);
        let words = match at_most {
            Some(hour) if most > 0 => {
                format!("{total} in the last 24 hours; {most} at most, in the hour from {} UTC.", clock(hour.from))
            }
            _ => "None in the last 24 hours.".to_owned(),
        };
        Self { heading, id, words, width: (x - GAP).max(1), height: HEIGHT, bars }
    }
}

/// `13:00`.
pub(super) fn clock(at: Timestamp) -> String {
    at.to_rfc3339().get(11..16).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(approved: &[i64]) -> Vec<Hour> {
        let from = |at: usize| Timestamp::from_seconds(1_767_225_600 + 3600 * i64::try_from(at).unwrap());
        approved
            .iter()
            .enumerate()
            .map(|(at, approved)| Hour { from: from(at), approved: *approved, denied: 0 })
            .collect()
    }

    fn draw(approved: &[i64]) -> Chart {
        Chart::draw("Approvals", "approvals", &hours(approved), |hour| hour.approved)
    }

    #[test]
    fn the_greatest_hour_fills_the_height_and_the_smallest_can_be_seen() {
        let chart = draw(&[0, 1000, 500, 1]);
        let heights: Vec<_> = chart.bars.iter().map(|bar| (bar.x, bar.y, bar.height)).collect();
        assert_eq!(heights, [(10, 0, 48), (20, 24, 24), (30, 47, 1)]);
        assert_eq!(chart.words, "1501 in the last 24 hours; 1000 at most, in the hour from 01:00 UTC.");
        assert_eq!(chart.width, 38);
    }

    #[test]
    fn where_nothing_happened_there_is_no_bar_and_it_is_said() {
        for chart in [draw(&[0, 0]), draw(&[])] {
            assert_eq!((chart.bars.as_slice(), chart.words.as_str()), (&[][..], "None in the last 24 hours."));
        }
    }
}
