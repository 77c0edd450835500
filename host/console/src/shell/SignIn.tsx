/** The sign-in: at the issuer where there is one, or by a token, which the server keeps in a cookie. */
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { meQuery } from "../api/me";
import { queries } from "../api/query";
import { forgetSignInFailure, issuerUrl, signIn, signInFailure, waysQuery } from "../api/session";
import { useTexts } from "../i18n";
import { Actions, Button, TextField } from "../ui/controls";
import { Form } from "../ui/form";
import { Icon } from "../ui/icons";
import { Failure, Loading } from "../ui/page";
import { TEXTS } from "./texts";
import { tellWindows } from "./windows";

export function SignIn() {
  const t = useTexts(TEXTS);
  useEffect(() => {
    document.title = `${t.signIn} · Lakeport`;
  }, [t]);
  return (
    <main className="signin">
      <div className="section">
        <header><h1>Lakeport</h1></header>
        <p className="lead">{t.signInLead}</p>
        <FromIssuer />
        <Ways />
      </div>
    </main>
  );
}

/** The sign-in above a page whose session has ended: the page stays with what was typed in it. */
export function SignInAgain() {
  const t = useTexts(TEXTS);
  return (
    <ModalOverlay isOpen isDismissable={false} isKeyboardDismissDisabled className="overlay">
      <Modal className="modal">
        <Dialog className="dialog signin-again">
          <header><Heading slot="title">{t.signIn}</Heading></header>
          <p>{t.sessionEnded}</p>
          <Ways isInNewTab />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** `isInNewTab`: the issuer's pages do not replace this one, which asks for its caller when the reader comes back to it. */
function Ways({ isInNewTab }: { isInNewTab?: boolean }) {
  const t = useTexts(TEXTS);
  const ways = useQuery(waysQuery);
  const page = useLocation({ select: (location) => location.pathname + location.searchStr });
  const issuer = ways.data?.oidc ?? null;
  if (ways.isPending) return <Loading lines={2} />;
  return (
    <>
      {issuer !== null && (
        <a className="button primary" href={issuerUrl(isInNewTab ? "/" : page)} {...(isInNewTab ? { target: "_blank", rel: "noreferrer" } : {})}>
          {t.signInAt(issuer)}
        </a>
      )}
      {issuer !== null && isInNewTab && <p className="small">{t.newTab}</p>}
      {issuer !== null && <p className="or small">{t.orByToken}</p>}
      <ByToken isOnly={issuer === null} />
    </>
  );
}

/** Why the issuer's sign-in that the browser comes from failed. */
function FromIssuer() {
  const t = useTexts(TEXTS);
  const failure = signInFailure();
  const sentence = failure && Object.hasOwn(t.signInFailures, failure.code) ? t.signInFailures[failure.code] : undefined;
  if (!failure || !sentence) return null;
  return (
    <div className="note failure" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentence}</p>
        {failure.requestId && <p className="small">{t.request} <code>{failure.requestId}</code></p>}
      </div>
    </div>
  );
}

function ByToken({ isOnly }: { isOnly: boolean }) {
  const t = useTexts(TEXTS);
  const [token, setToken] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await signIn(token.trim());
      tellWindows();
      forgetSignInFailure();
      await queries.invalidateQueries({ queryKey: meQuery.queryKey });
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Form isBusy={isBusy} onSubmit={submit}>
      <TextField label={t.token} type="password" value={token} onChange={setToken} hint={t.tokenHint} isRequired autoFocus={isOnly} />
      <Failure error={error} />
      <Actions>
        <Button type="submit" kind={isOnly ? "primary" : "plain"} isBusy={isBusy} isDisabled={token.trim() === ""}>{t.signIn}</Button>
      </Actions>
    </Form>
  );
}
