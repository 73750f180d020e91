//! Names of arguments and methods that generated code or the library could mean something else by.

use rpc::generated::{Method, ServiceDescriptor, Stub as _};
use rpc::{RpcError, rpc_service};

#[macro_use]
mod serve;

#[rpc_service]
trait Arguments {
    #[allow(clippy::too_many_arguments, reason = "every name that might be in the way is one")]
    async fn echo(
        &self,
        self_: u8,
        ctx: u8,
        context: u8,
        request: u8,
        req: u8,
        response: u8,
        client: u8,
        service: u8,
        method: u8,
        args: u8,
        payload: u8,
        params: u8,
        buf: u8,
        bytes: u8,
        result: u8,
        e: u8,
        err: u8,
        id: u8,
        timeout: u8,
        r#type: u8,
        r#match: u8,
        ordinal: u8,
        channel: u8,
        argument0: u8,
        handler: u8,
        options: u8,
        this: u8,
        formatter: u8,
    ) -> Result<Vec<u8>, RpcError>;

    async fn request(&self, request: String, service: u8) -> Result<(String, u8), RpcError>;
}

#[rpc_service]
#[allow(
    non_snake_case,
    clippy::new_ret_no_self,
    clippy::wrong_self_convention,
    reason = "the names are chosen to be in the way"
)]
trait Methods {
    async fn new(&self) -> Result<String, RpcError>;
    async fn connect(&self) -> Result<String, RpcError>;
    async fn call(&self) -> Result<String, RpcError>;
    async fn serve(&self) -> Result<String, RpcError>;
    async fn dispatch(&self) -> Result<String, RpcError>;
    async fn name(&self) -> Result<String, RpcError>;
    async fn default(&self) -> Result<String, RpcError>;
    async fn drop(&self) -> Result<String, RpcError>;
    async fn builder(&self) -> Result<String, RpcError>;
    async fn invoke(&self) -> Result<String, RpcError>;
    async fn service(&self) -> Result<String, RpcError>;
    async fn from_channel(&self) -> Result<String, RpcError>;
    async fn channel(&self) -> Result<String, RpcError>;
    async fn method(&self) -> Result<String, RpcError>;
    async fn methods(&self) -> Result<String, RpcError>;
    async fn ordinal(&self) -> Result<String, RpcError>;
    async fn request(&self) -> Result<String, RpcError>;
    async fn options(&self) -> Result<String, RpcError>;
    async fn fmt(&self) -> Result<String, RpcError>;
    async fn handle(&self) -> Result<String, RpcError>;
    async fn clone_from(&self) -> Result<String, RpcError>;
    async fn r#await(&self) -> Result<String, RpcError>;
    async fn r#fn(&self) -> Result<String, RpcError>;
    async fn r#async(&self) -> Result<String, RpcError>;
    async fn getUser(&self) -> Result<String, RpcError>;
    async fn get_user(&self) -> Result<String, RpcError>;
}

#[allow(non_camel_case_types, reason = "a keyword is no camel")]
#[rpc_service]
trait r#trait {
    async fn r#match(&self, r#type: u8) -> Result<u8, RpcError>;
}

struct Echo;

impl Arguments for Echo {
    async fn echo(
        &self,
        self_: u8,
        ctx: u8,
        context: u8,
        request: u8,
        req: u8,
        response: u8,
        client: u8,
        service: u8,
        method: u8,
        args: u8,
        payload: u8,
        params: u8,
        buf: u8,
        bytes: u8,
        result: u8,
        e: u8,
        err: u8,
        id: u8,
        timeout: u8,
        r#type: u8,
        r#match: u8,
        ordinal: u8,
        channel: u8,
        argument0: u8,
        handler: u8,
        options: u8,
        this: u8,
        formatter: u8,
    ) -> Result<Vec<u8>, RpcError> {
        Ok(vec![
            self_, ctx, context, request, req, response, client, service, method, args, payload, params, buf, bytes,
            result, e, err, id, timeout, r#type, r#match, ordinal, channel, argument0, handler, options, this,
            formatter,
        ])
    }

    async fn request(&self, request: String, service: u8) -> Result<(String, u8), RpcError> {
        Ok((request, service))
    }
}

impl Methods for Echo {
    async fn new(&self) -> Result<String, RpcError> {
        Ok("new".into())
    }

    async fn connect(&self) -> Result<String, RpcError> {
        Ok("connect".into())
    }

    async fn call(&self) -> Result<String, RpcError> {
        Ok("call".into())
    }

    async fn serve(&self) -> Result<String, RpcError> {
        Ok("serve".into())
    }

    async fn dispatch(&self) -> Result<String, RpcError> {
        Ok("dispatch".into())
    }

    async fn name(&self) -> Result<String, RpcError> {
        Ok("name".into())
    }

    async fn default(&self) -> Result<String, RpcError> {
        Ok("default".into())
    }

    async fn drop(&self) -> Result<String, RpcError> {
        Ok("drop".into())
    }

    async fn builder(&self) -> Result<String, RpcError> {
        Ok("builder".into())
    }

    async fn invoke(&self) -> Result<String, RpcError> {
        Ok("invoke".into())
    }

    async fn service(&self) -> Result<String, RpcError> {
        Ok("service".into())
    }

    async fn from_channel(&self) -> Result<String, RpcError> {
        Ok("from_channel".into())
    }

    async fn channel(&self) -> Result<String, RpcError> {
        Ok("channel".into())
    }

    async fn method(&self) -> Result<String, RpcError> {
        Ok("method".into())
    }

    async fn methods(&self) -> Result<String, RpcError> {
        Ok("methods".into())
    }

    async fn ordinal(&self) -> Result<String, RpcError> {
        Ok("ordinal".into())
    }

    async fn request(&self) -> Result<String, RpcError> {
        Ok("request".into())
    }

    async fn options(&self) -> Result<String, RpcError> {
        Ok("options".into())
    }

    async fn fmt(&self) -> Result<String, RpcError> {
        Ok("fmt".into())
    }

    async fn handle(&self) -> Result<String, RpcError> {
        Ok("handle".into())
    }

    async fn clone_from(&self) -> Result<String, RpcError> {
        Ok("clone_from".into())
    }

    async fn r#await(&self) -> Result<String, RpcError> {
        Ok("r#await".into())
    }

    async fn r#fn(&self) -> Result<String, RpcError> {
        Ok("r#fn".into())
    }

    async fn r#async(&self) -> Result<String, RpcError> {
        Ok("r#async".into())
    }

    async fn getUser(&self) -> Result<String, RpcError> {
        Ok("getUser".into())
    }

    async fn get_user(&self) -> Result<String, RpcError> {
        Ok("get_user".into())
    }
}

impl r#trait for Echo {
    async fn r#match(&self, r#type: u8) -> Result<u8, RpcError> {
        Ok(r#type)
    }
}

#[tokio::test]
async fn arguments_of_any_name_arrive_in_their_own_place() {
    let (_server, stub): (_, ArgumentsStub) = serve!(ArgumentsDispatcher::new(Echo));

    let echoed = stub
        .echo(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)
        .await
        .unwrap();
    assert_eq!(echoed, (0..28).collect::<Vec<_>>());
    let echoed = stub.request("r".into(), 1).await.unwrap();
    assert_eq!(echoed, ("r".to_owned(), 1));
}

#[tokio::test]
async fn methods_of_any_name_can_be_called() {
    let (_server, stub): (_, MethodsStub) = serve!(MethodsDispatcher::new(Echo));

    assert_eq!(stub.new().await.unwrap(), "new");
    assert_eq!(stub.connect().await.unwrap(), "connect");
    assert_eq!(stub.call().await.unwrap(), "call");
    assert_eq!(stub.serve().await.unwrap(), "serve");
    assert_eq!(stub.dispatch().await.unwrap(), "dispatch");
    assert_eq!(stub.name().await.unwrap(), "name");
    assert_eq!(stub.default().await.unwrap(), "default");
    assert_eq!(stub.drop().await.unwrap(), "drop");
    assert_eq!(stub.builder().await.unwrap(), "builder");
    assert_eq!(stub.invoke().await.unwrap(), "invoke");
    assert_eq!(stub.service().await.unwrap(), "service");
    assert_eq!(stub.from_channel().await.unwrap(), "from_channel");
    assert_eq!(stub.channel().await.unwrap(), "channel");
    assert_eq!(stub.method().await.unwrap(), "method");
    assert_eq!(stub.methods().await.unwrap(), "methods");
    assert_eq!(stub.ordinal().await.unwrap(), "ordinal");
    assert_eq!(stub.request().await.unwrap(), "request");
    assert_eq!(stub.options().await.unwrap(), "options");
    assert_eq!(stub.fmt().await.unwrap(), "fmt");
    assert_eq!(stub.handle().await.unwrap(), "handle");
    assert_eq!(stub.clone_from().await.unwrap(), "clone_from");
    assert_eq!(stub.r#await().await.unwrap(), "r#await");
    assert_eq!(stub.r#fn().await.unwrap(), "r#fn");
    assert_eq!(stub.r#async().await.unwrap(), "r#async");
    assert_eq!(stub.getUser().await.unwrap(), "getUser");
    assert_eq!(stub.get_user().await.unwrap(), "get_user");
}

#[tokio::test]
async fn raw_identifiers_can_name_everything() {
    let (_server, stub): (_, traitStub) = serve!(traitDispatcher::new(Echo));

    assert_eq!(stub.r#match(5).await.unwrap(), 5);
}

#[test]
fn names_on_the_wire_are_written_without_r() {
    let methods = |service: &ServiceDescriptor| -> Vec<_> { service.methods().iter().map(Method::name).collect() };

    assert_eq!(traitStub::SERVICE.name(), "trait");
    assert_eq!(methods(traitStub::SERVICE), ["match"]);
    assert!(methods(MethodsStub::SERVICE).ends_with(&["await", "fn", "async", "getUser", "get_user"]));
}
