use std::convert::Infallible;
use std::ops::Range;

use crate::extract::Params;
use crate::problem::Problem;

/// The page of a list that is asked for, of those that are numbered. Values that are no numbers, or out of their range, are
/// ignored, as the original does.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedPage {
    /// The number of the page, from 1.
    pub(super) page: usize,
    /// The most records of a page, 1 to 100.
    pub(super) pagesize: usize,
}

impl NumberedPage {
    /// Reads the page of a list of `records`, of which the first `max_examined` are served.
    pub(super) fn from_params(
        params: &mut Params,
        max_examined: usize,
        records: &str,
    ) -> Result<Self, Problem> {
        let mut number = |name: &str| {
            params.take_with(name, |text| Ok::<_, Infallible>(text.trim().parse::<usize>().ok()))
        };
        let page = number("page")?.flatten().filter(|page| *page > 0).unwrap_or(1);
        let pagesize = number("pagesize")?.flatten().filter(|size| (1..=100).contains(size));
        let pagesize = pagesize.unwrap_or(20);
        if (page - 1).saturating_mul(pagesize) >= max_examined {
            let rule = format!("must be within the first {max_examined} {records}");
            return Err(Problem::invalid_parameter("page", rule));
        }
        Ok(Self { page, pagesize })
    }

    /// Returns the positions of the records of the page in the list.
    pub(super) fn positions(self) -> Range<usize> {
        (self.page - 1) * self.pagesize..self.page * self.pagesize
    }

    /// Returns how many pages a list with so many records has, at least 1.
    pub(super) fn count(self, total: usize) -> usize {
        total.div_ceil(self.pagesize).max(1)
    }
}
