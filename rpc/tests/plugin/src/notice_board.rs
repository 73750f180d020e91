//! `noticeBoard`: a list in this process, which can be read but does not call out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rpc_core::registry::{Discovery, InstanceList, Registrar, Registration};
use rpc_core::{BoxError, BoxFuture, ServiceInstance, Settings, register};

static NOTICES: Mutex<Vec<ServiceInstance>> = Mutex::new(Vec::new());

/// A registry that all who name it share.
#[derive(Debug)]
pub struct NoticeBoard;

impl NoticeBoard {
    /// The key it is registered under.
    pub const KEY: &'static str = "noticeBoard";
}

register!(dyn Discovery, NoticeBoard::KEY, build);
register!(dyn Registrar, NoticeBoard::KEY, build);

fn build(_: &Settings) -> Result<Arc<NoticeBoard>, BoxError> {
    Ok(Arc::new(NoticeBoard))
}

impl Discovery for NoticeBoard {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        Box::pin(async move {
            let of_service = notices().iter().filter(|notice| notice.service == service).cloned().collect();
            Ok(InstanceList::new(of_service))
        })
    }
}

impl Registrar for NoticeBoard {
    fn register(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<Box<dyn Registration>, BoxError>> {
        Box::pin(async move {
            notices().push(instance.clone());
            let notice: Box<dyn Registration> = Box::new(Notice { service: instance.service, id: instance.id });
            Ok(notice)
        })
    }
}

#[derive(Debug)]
struct Notice {
    service: String,
    id: String,
}

impl Notice {
    fn is(&self, other: &ServiceInstance) -> bool {
        (&other.service, &other.id) == (&self.service, &self.id)
    }
}

impl Registration for Notice {
    fn update(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            let mut notices = notices();
            let notice = notices.iter_mut().find(|notice| self.is(notice)).ok_or("the notice was taken down")?;
            *notice = instance;
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            notices().retain(|notice| !self.is(notice));
            Ok(())
        })
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        notices().retain(|notice| !self.is(notice));
    }
}

fn notices() -> MutexGuard<'static, Vec<ServiceInstance>> {
    NOTICES.lock().unwrap_or_else(PoisonError::into_inner)
}
