/** The frame of every page: the navigation, who is signed in, and the keyboard. */
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useLive } from "../api/live";
import { forgetTyped, isSignedOut, meQuery, useMay, useMe } from "../api/me";
import { queries } from "../api/query";
import { signOut } from "../api/session";
import { ServerZone, useLanguage, useTexts } from "../i18n";
import { Button, Dialog, IconButton } from "../ui/controls";
import { Icon } from "../ui/icons";
import { Failure, Loading } from "../ui/page";
import { isAway } from "./away";
import { PLACES, type Place } from "./places";
import { SignIn, SignInAgain } from "./SignIn";
import { TEXTS } from "./texts";
import { useTheme } from "./theme";
import { tellWindows, useOtherWindows } from "./windows";

/** The button that opens the navigation on a narrow page. */
const MENU = "menu";

/** How often a server that is away is asked. */
const AWAY_MS = 2_000;

export function Shell() {
  const me = useQuery({ ...meQuery, refetchInterval: ({ state }) => (isAway(state.error) ? AWAY_MS : false) });
  useRecovery(me.error === null);
  useOtherWindows(me.data !== undefined);
  if (me.data) {
    return (
      <>
        <ServerZone value={me.data.timeZone}><Frame key={me.data.turn} error={me.error} /></ServerZone>
        {isSignedOut(me.error) && me.data.kind !== "local" && <SignInAgain />}
      </>
    );
  }
  if (isSignedOut(me.error)) return <SignIn />;
  if (me.error) return <div className="page"><Failure error={me.error} onRetry={() => void me.refetch()} /></div>;
  return <div className="page"><Loading /></div>;
}

/** When the server answers the caller again, everything is read again: some of it failed, and changes were missed. */
function useRecovery(isWell: boolean) {
  const wasWell = useRef(true);
  useEffect(() => {
    if (isWell && !wasWell.current) void queries.invalidateQueries();
    wasWell.current = isWell;
  }, [isWell]);
}

/** `error`: why the caller could not be read again. */
function Frame({ error }: { error: unknown }) {
  const t = useTexts(TEXTS);
  const me = useMe();
  const may = useMay();
  const { language, setLanguage } = useLanguage();
  const { theme, toggle } = useTheme();
  const [isOpen, setOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const places = PLACES.filter((place) => may(place.needs));
  const path = useLocation({ select: (location) => location.pathname });
  useEffect(() => setOpen(false), [path]);
  useEscape(isOpen, () => setOpen(false));
  useLive(!isSignedOut(error));
  useKeyboard(places, () => setHelpOpen(true));
  const leave = async () => {
    await signOut().catch(() => undefined);
    tellWindows();
    queries.clear();
    forgetTyped();
    window.location.assign("/");
  };
  return (
    <div className="shell">
      <a className="skip" href="#content">{t.skip}</a>
      <div className="topbar">
        <Button id={MENU} kind="quiet" icon="menu" aria-label={t.menu} aria-expanded={isOpen} onPress={() => setOpen(!isOpen)} />
        <span className="strong">Lakeport</span>
      </div>
      {isOpen && <div className="shade" aria-hidden="true" onClick={() => setOpen(false)} />}
      <aside className={isOpen ? "side open" : "side"}>
        <Link to="/" className="brand"><img src="/icon.svg" alt="" />Lakeport</Link>
        <nav aria-label={t.menu} className="places">
          {([null, "data", "work", "platform"] as const).map((group) => {
            const members = places.filter((place) => place.group === group);
            if (members.length === 0) return null;
            return (
              <div key={group ?? "first"}>
                {group && <p className="group">{t[group]}</p>}
                {members.map((place) => (
                  <Link key={place.name} to={`/${place.name}`} className="nav" activeProps={{ className: "active", "aria-current": "page" }}>
                    <Icon name={place.icon} />{t[place.name]}
                  </Link>
                ))}
              </div>
            );
          })}
        </nav>
        <div className="foot">
          <p className="who small"><span className="strong">{me.name}</span> · {me.role}{me.kind === "local" && ` · ${t.local}`}</p>
          <p className="who small" title={t.serverTimeLead}>{t.serverTime(me.timeZone)}</p>
          <IconButton icon={theme === "dark" ? "sun" : "moon"} label={theme === "dark" ? t.light : t.dark} onPress={toggle} />
          <Button kind="quiet" onPress={() => setLanguage(language === "en" ? "zh" : "en")}>{t.language}</Button>
          <a className="button quiet" href="/docs">{t.docs}</a>
          {me.kind !== "local" && <IconButton icon="out" label={t.signOut} onPress={() => void leave()} />}
        </div>
      </aside>
      <main id="content" tabIndex={-1}>
        {isAway(error) && <p className="note failure away" role="alert"><Icon name="warning" />{t.unreachable}</p>}
        {isSignedOut(error) && me.kind === "local" && <LocalEnded />}
        <Outlet />
      </main>
      <Dialog title={t.shortcuts} isOpen={isHelpOpen} isDismissable onClose={() => setHelpOpen(false)}>
        <table>
          <tbody>
            <tr><td><kbd>/</kbd></td><td>{t.openSearch}</td></tr>
            {places.map((place) => (
              <tr key={place.name}><td><kbd>g</kbd> <kbd>{place.letter}</kbd></td><td>{t.goTo(t[place.name])}</td></tr>
            ))}
            <tr><td><kbd>?</kbd></td><td>{t.help}</td></tr>
          </tbody>
        </table>
      </Dialog>
    </div>
  );
}

/**
 * Local mode has ended, by a token that was made here or elsewhere. Not a sign-in above the page: it would cover the dialog
 * that shows the token. What local mode read and typed, an admin without a name, is not for the caller who signs in.
 */
function LocalEnded() {
  const t = useTexts(TEXTS);
  const signInAtStart = () => {
    forgetTyped();
    window.location.reload();
  };
  return (
    <div className="note failure away" role="alert">
      <Icon name="warning" />
      <div><p>{t.localEnded}</p><Button onPress={signInAtStart}>{t.signIn}</Button></div>
    </div>
  );
}

/** Escape closes the navigation of a narrow page, and leaves the focus on its button. */
function useEscape(isOpen: boolean, close: () => void) {
  useEffect(() => {
    if (!isOpen) return undefined;
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      close();
      document.getElementById(MENU)?.focus();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [isOpen, close]);
}

/** How long `g` waits for its letter, in milliseconds. */
const LETTER_MS = 1_500;

/** `/` goes to the page's search, `g` and a letter to a place, `?` shows the list. */
function useKeyboard(places: readonly Place[], help: () => void) {
  const navigate = useNavigate();
  useEffect(() => {
    let since = 0;
    const pressed = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const isTyping = target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("[role=dialog]")) return;
      if (event.key === "/") {
        const search = document.querySelector<HTMLInputElement>("[data-search]");
        if (search) {
          event.preventDefault();
          search.focus();
        }
      } else if (event.key === "?") {
        help();
      } else if (event.key === "g") {
        since = event.timeStamp;
        return;
      } else if (since > 0 && event.timeStamp - since < LETTER_MS) {
        const place = places.find((one) => one.letter === event.key);
        if (place) void navigate({ to: `/${place.name}` });
      }
      since = 0;
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [places, help, navigate]);
}
