/**
 * A physical change as one flow: the plan of a dry run, the statements with what undoes them, the run, its outcome.
 * What changes the catalogue alone has no statements and is done at once.
 */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { queries } from "../../api/query";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog, TextField } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { Failure, Progress } from "../../ui/page";
import { type Changed, ChangeFailed, changesQuery, type DryRun, type TableChange } from "./api";
import { Notes, Statements } from "./Statements";
import { CHANGE_TEXTS } from "./texts-change";

export interface Wanted {
  tableId: number;
  title: string;
  /** The text of the button that runs it. */
  action: string;
  /** Sends the request, as a dry run or in earnest. */
  send: (isDryRun: boolean) => Promise<Changed>;
  /** What it means, above the statements. */
  lead?: ReactNode;
  /** The name that has to be typed first; with one, or with `isAsked`, it is asked even where there are no statements. */
  typed?: string;
  isAsked?: boolean;
  isDanger?: boolean;
  /** The table is gone afterwards: nothing is asked of it any more. */
  isLast?: boolean;
}

interface Open {
  wanted: Wanted;
  plan: DryRun;
  end: (isDone: boolean) => void;
}

const refresh = async () => {
  await Promise.all([queries.invalidateQueries({ queryKey: ["tables"] }), queries.invalidateQueries({ queryKey: ["lineage"] })]);
};

interface PhysicalChange {
  /** Answers whether the change was made. It throws what the dry run is refused with, and while another change is made. */
  start: (wanted: Wanted) => Promise<boolean>;
  /** The table whose change is being planned, for the buttons that ask for one. */
  planned: number | null;
  /** Shown while a change that a button asked for is planned; what is typed in a form has its own button. */
  progress: ReactNode;
  dialog: ReactNode;
}

export function usePhysicalChange(): PhysicalChange {
  const t = useTexts(CHANGE_TEXTS);
  const [open, setOpen] = useState<Open | null>(null);
  const [planned, setPlanned] = useState<Wanted | null>(null);
  const isTaken = useRef(false);
  // The same function as long as it can be: cells of tables that hold an editor are kept with it.
  const start = useCallback(async (wanted: Wanted) => {
    if (isTaken.current) throw new Error(t.another);
    isTaken.current = true;
    setPlanned(wanted);
    try {
      const { statements = [], notes = [] } = await wanted.send(true);
      if (statements.length === 0 && notes.length === 0 && !isAsked(wanted)) {
        await wanted.send(false);
        await refresh();
        return true;
      }
      setPlanned(null);
      return await new Promise<boolean>((end) => setOpen({ wanted, plan: { statements, notes }, end }));
    } finally {
      isTaken.current = false;
      setPlanned(null);
    }
  }, [t]);
  const progress = planned !== null && isAsked(planned) && <Progress label={t.planning(planned.title)} />;
  const dialog = open && (
    <ChangeDialog key={open.wanted.title} wanted={open.wanted} plan={open.plan} onClose={(isDone) => {
      setOpen(null);
      open.end(isDone);
    }} />
  );
  return { start, planned: planned?.tableId ?? null, progress, dialog };
}

function isAsked(wanted: Wanted): boolean {
  return wanted.typed !== undefined || wanted.isAsked === true;
}

/** The change of a request that answers the table alone. It may differ from the plan: the bin's name has the time of the run. */
async function recorded({ tableId, isLast }: Wanted): Promise<TableChange | null> {
  if (isLast) return null;
  // Not from the cache: a reading that is under way may have begun before the change.
  const changes = await changesQuery(tableId).queryFn().catch(() => []);
  return changes[0] ?? null;
}

type Phase = "plan" | "running" | "done" | "failed";

function ChangeDialog({ wanted, plan, onClose }: { wanted: Wanted; plan: DryRun; onClose: (isDone: boolean) => void }) {
  const t = useTexts(CHANGE_TEXTS);
  const [phase, setPhase] = useState<Phase>("plan");
  const [typed, setTyped] = useState("");
  const [made, setMade] = useState<TableChange | null>(null);
  const [error, setError] = useState<unknown>(null);
  // The request answers at the end, or after a while; how far it is stands in the list of changes.
  const running = useQuery({
    ...changesQuery(wanted.tableId), enabled: phase === "running", refetchInterval: 700, staleTime: 0,
  }).data?.find((change) => (made ? change.id === made.id : change.state === "running"));

  // A change that goes on beyond its request ends in the list of changes.
  const isOver = phase === "running" && made !== null && running !== undefined && running.state !== "running";
  useEffect(() => {
    if (!isOver || running === undefined) return;
    setMade(running);
    setPhase(running.state === "success" ? "done" : "failed");
    void refresh();
  }, [isOver, running]);
  const run = async () => {
    setPhase("running");
    setError(null);
    try {
      const answer = await wanted.send(false);
      const change = answer.change ?? (plan.statements.length > 0 ? await recorded(wanted) : null);
      setMade(change);
      if (change?.state === "running") return;
      setPhase(change?.state === "failed" ? "failed" : "done");
      if (!wanted.isLast) await refresh();
    } catch (reason) {
      setError(reason);
      setPhase("failed");
      await refresh();
    }
  };
  const close = () => {
    if (phase === "done" && wanted.isLast) void refresh();
    onClose(phase === "done" || (phase === "running" && made !== null));
  };
  // Until the request has answered, the dialog stays: only here its failure is said.
  const isWaiting = phase === "running" && made === null;
  const newest = phase === "running" ? (running ?? made) : made;
  const outcomes = error instanceof ChangeFailed ? error.statements
    : wanted.isLast && phase === "done" ? plan.statements.map((one) => ({ ...one, outcome: "done" as const, error: null })) : newest?.statements;
  const done = outcomes?.filter((statement) => statement.outcome === "done").length;
  return (
    <Dialog title={wanted.title} isOpen onClose={close} isWide={plan.statements.length > 0} isBusy={isWaiting}>
      {phase === "plan" && wanted.lead}
      {phase === "done" && <p className="note" role="status"><Icon name="check" />{t.done}</p>}
      {phase === "running" && <Progress label={made ? t.goesOn : t.running} value={done} of={outcomes?.length} />}
      <Failure error={error} />
      {made?.error && <p className="note failure" role="alert"><Icon name="warning" />{made.error.message}</p>}
      <Statements planned={plan.statements} made={outcomes} />
      <Notes notes={plan.notes} />
      {made && made.drift.length > 0 && <p className="note"><Icon name="warning" />{t.drift(made.drift.length)}</p>}
      {phase === "plan" && plan.statements.length === 0 && <p className="small">{t.noStatements}</p>}
      {phase === "plan" && wanted.typed !== undefined && (
        <TextField label={t.typeName(wanted.typed)} value={typed} onChange={setTyped} placeholder={wanted.typed} autoFocus />
      )}
      <Actions>
        <Button isDisabled={isWaiting} onPress={close}>{phase === "plan" ? t.cancel : t.close}</Button>
        {(phase === "plan" || (phase === "failed" && !(error instanceof ChangeFailed) && !made)) && (
          <Button kind={wanted.isDanger ? "danger" : "primary"} onPress={() => void run()}
            isDisabled={wanted.typed !== undefined && typed !== wanted.typed}>
            {phase === "plan" ? wanted.action : t.again}
          </Button>
        )}
      </Actions>
    </Dialog>
  );
}
