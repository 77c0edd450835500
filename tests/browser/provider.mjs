/**
 * A real OpenID provider for one client, on loopback: `node provider.mjs <port> <redirect URI>`. People sign in by any
 * name and password; the name's first part is their role, as in `editor-ada`. It says `ready` when it listens.
 */
import { Provider } from "oidc-provider";

const [port, redirectUri] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "lakeport",
    client_secret: "a secret/of: the+client",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "client_secret_basic",
  }],
  claims: { openid: ["sub"], profile: ["preferred_username", "lakeport_role"] },
  // The claims are in the ID token, and not only where its user asks for them.
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: id, lakeport_role: id.split("-")[0] }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
