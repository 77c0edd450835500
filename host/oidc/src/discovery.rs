//! What the issuer publishes of itself.

use anyhow::{Context, ensure};
use lakeport_egress::{HttpClient, Limits};
use serde::Deserialize;

/// The members of the discovery document that are used.
#[derive(Deserialize)]
pub struct Discovery {
    issuer: String,
    pub jwks_uri: String,
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl Discovery {
    /// Fails if the document is another issuer's, or has addresses that are less safe than the issuer's.
    pub async fn read(client: &HttpClient, issuer: &str) -> anyhow::Result<Discovery> {
        let base = issuer.trim_end_matches('/');
        let address = format!("{base}/.well-known/openid-configuration");
        let discovery: Discovery = client.get_json(&address, Limits::default()).await.context("discovery")?;
        ensure!(
            discovery.issuer == issuer,
            "it names itself {:?}; oidc.issuer must match exactly",
            discovery.issuer
        );
        let addresses = [
            ("jwks_uri", Some(&discovery.jwks_uri)),
            ("authorization_endpoint", discovery.authorization_endpoint.as_ref()),
            ("token_endpoint", discovery.token_endpoint.as_ref()),
        ];
        for (name, address) in addresses {
            ensure!(
                address
                    .is_none_or(|address| address.starts_with("https://") || issuer.starts_with("http://")),
                "its {name} is not https, as the issuer itself is"
            );
        }
        Ok(discovery)
    }
}
