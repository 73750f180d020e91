//! A third party's plugins: a registry, a load balancer and a fault strategy, each in the file of its key.

mod notice_board;
mod once_more;
mod seniority;

pub use notice_board::NoticeBoard;
pub use once_more::OnceMore;
pub use seniority::Seniority;
