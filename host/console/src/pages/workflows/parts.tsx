/** Small parts that the pages of workflows and runs share. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTexts } from "../../i18n";
import { asMember } from "../../search";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { State, Tag, type Tone } from "../../ui/page";
import { TEXTS } from "./texts";
import "./style.css";

export function WorkflowLink({ id, children, tab }: { id: number; children: ReactNode; tab?: string }) {
  return <Link to="/workflows/$id" params={{ id: String(id) } as never} search={(tab ? { tab } : {}) as never}>{marked(children)}</Link>;
}

/** To a run; its id is the engine's, any text. Only the text where the engine has not named it. */
export function RunLink({ workflowId, instanceId, children, task }: {
  workflowId: number; instanceId: string | null; children: ReactNode; task?: string;
}) {
  if (instanceId === null) return <>{children}</>;
  return (
    <Link to="/workflows/$id/runs/$instanceId" params={{ id: String(workflowId), instanceId } as never}
      search={(task ? { task: asMember(task) } : {}) as never}>
      {children}
    </Link>
  );
}

export function TableLink({ id, children }: { id: number; children: ReactNode }) {
  return <Link to="/tables/$id" params={{ id: String(id) } as never}>{marked(children)}</Link>;
}

const PUBLISH_TONES: Record<string, Tone> = { never: "plain", pending: "busy", published: "good", failed: "bad", outdated: "warn" };

/** How the deployed version stands to the definition. */
export function PublishState({ value }: { value: string }) {
  const t = useTexts(TEXTS);
  const names: Record<string, string> = t.publishStates;
  return <Tag tone={Object.hasOwn(PUBLISH_TONES, value) ? PUBLISH_TONES[value]! : "plain"}>{names[value] ?? value}</Tag>;
}

/** What was decided about a publication. */
export function Decision({ value }: { value: string }) {
  return <State value={value === "PENDING" ? "reviewing" : value.toLowerCase()} />;
}

/** What prevents something, or is worth knowing about it; not shown if there is none. */
export function Problems({ title, problems, isBad }: { title: string; problems: readonly ReactNode[]; isBad?: boolean }) {
  if (problems.length === 0) return null;
  return (
    <div className={isBad ? "note failure" : "note"}>
      <Icon name="warning" />
      <div>
        <p className="strong">{title}</p>
        <ul>{problems.map((one, place) => <li key={place}>{one}</li>)}</ul>
      </div>
    </div>
  );
}

/** Why a run began. */
export function Trigger({ value }: { value: string }) {
  const t = useTexts(TEXTS);
  const names: Record<string, string> = t.triggers;
  return <span className="workflows-nowrap">{names[value] ?? value}</span>;
}
