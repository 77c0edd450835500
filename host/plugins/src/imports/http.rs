//! `lakeport:host/http`: requests to the addresses of the configured instance.

use std::time::Instant;

use lakeport_bindings::host::error;
use lakeport_bindings::host::http::Host;
use lakeport_bindings::host::types::Error;
use lakeport_bindings::host::web::{Request, Response};
use lakeport_http_rules::REQUESTS_MAX;

use crate::http::CallBounds;
use crate::state::CallState;

impl Host for CallState {
    async fn send(&mut self, request: Request) -> wasmtime::Result<Result<Response, Error>> {
        let http = self.instance.as_ref().and_then(|instance| instance.http.clone());
        let Some(http) = http else {
            self.request_counters.refused();
            return Ok(Err(error(
                "not_granted",
                "no address is granted: this call is for no configured instance",
            )));
        };
        self.requests += 1;
        if self.requests > REQUESTS_MAX {
            self.request_counters.refused();
            let message = format!("one call sends {REQUESTS_MAX} requests at most");
            return Ok(Err(error("limit_exceeded", message)));
        }
        let bounds = CallBounds { deadline: self.deadline, cancelled: self.cancelled.clone() };
        let turn = self.cpu_turn.clone();
        let begun = Instant::now();
        let number = self.recording.as_ref().map(|recording| recording.ask(&request));
        let answer = turn.waiting(http.send(&bounds, &self.request_counters, &request)).await;
        if let Some((recording, number)) = self.recording.as_ref().zip(number) {
            recording.answer(number, &answer, begun.elapsed());
        }
        Ok(answer)
    }
}

impl lakeport_bindings::host::web::Host for CallState {}
