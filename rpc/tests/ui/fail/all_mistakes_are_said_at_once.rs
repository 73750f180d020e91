use rpc::{RpcError, rpc_service};

#[rpc_service(nmae = "users")]
pub trait Users: Clone {
    type User;

    #[rpc(idempotnt)]
    fn get(&mut self, name: &str, _: u8);
    async fn find<T>(&self, (a, b): (u8, u8)) -> Result<impl Send, RpcError>;
}

struct MyUsers;

// Not a mistake: the trait is there.
fn uses(_: &impl Users) {}

fn main() {}
