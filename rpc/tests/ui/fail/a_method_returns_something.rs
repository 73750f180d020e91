use rpc::rpc_service;

#[rpc_service]
trait Users {
    async fn get(&self);
}

fn main() {}
