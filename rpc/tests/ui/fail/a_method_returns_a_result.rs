use rpc::rpc_service;

type Alias = Option<u64>;

#[rpc_service]
trait Users {
    async fn unit(&self) -> ();
    async fn option(&self) -> Option<u64>;
    async fn alias(&self) -> Alias;
}

fn main() {}
