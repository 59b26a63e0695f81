/// Actions in the language of scenarios; what the parser takes for granted is left out.
extension ScenarioText {
    package static func line(_ action: Action) -> String {
        switch action {
        case .write(let peer, let steps): return "\(self.peer(peer)): \(self.words(steps))"
        case .stranger(let peer, let action): return "stranger \(self.peer(peer)) \(self.words(action))"
        case .hostile(let peer, let victim, let action):
            return "\(self.peer(peer)): hostile \(self.words(action, against: self.peer(victim)))"
        case .network(.impersonate(let whom, let by, let length)):
            return "\(self.peer(by)): answers for \(self.peer(whom)) \(length.word)"
        case .network(let action): return self.words(action)
        case .clock(let peer, let action): return "\(self.peer(peer)): clock \(self.words(action))"
        case .restamp(let peer): return "\(self.peer(peer)): restamps"
        case .history(let peer, let action): return "\(self.peer(peer)): \(self.words(action))"
        case .branch(let peer, let action): return "\(self.peer(peer)): \(self.words(action))"
        case .sharing(let peer, let action): return "\(self.peer(peer)): \(self.words(action))"
        case .process(let peer, let action): return "\(self.peer(peer)): \(self.words(action))"
        case .disk(let peer, let action): return "\(self.peer(peer)): \(self.words(action))"
        case .join(let inviter): return "\(self.peer(inviter)): invites"
        case .pair(let inviter, let trouble): return "\(self.peer(inviter)): pairs\(self.words(trouble))"
        case .leave(let peer): return "\(self.peer(peer)): leaves"
        }
    }

    private static func words(_ steps: [WorkStep]) -> String { steps.map { self.words($0) }.joined(separator: "; ") }

    package static func words(_ step: WorkStep) -> String {
        switch step {
        case .create(let object, let parent):
            "create \(self.object(object))" + (parent.map { " under \(self.object($0))" } ?? "")
        case .set(let object, let property): "set \(self.object(object)).\(Workload.name(property))"
        case .unset(let object, let property): "unset \(self.object(object)).\(Workload.name(property))"
        case .assign(let object, let name, let text): "set \(self.object(object)).\(name) \"\(text)\""
        case .clear(let object, let name): "unset \(self.object(object)).\(name)"
        case .move(let object, let parent):
            "move \(self.object(object)) " + (parent.map { "under \(self.object($0))" } ?? "to root")
        case .delete(let object): "delete \(self.object(object))"
        case .twins: "twins"
        case .insert(let parent, let sibling):
            "insert under \(self.object(parent))" + (sibling.map { " before \(self.object($0))" } ?? "")
        case .fill(let object, let count): "fill \(self.object(object)) with \(count)"
        case .spread(let object, let count, let byteCount):
            "spread \(count) names of \(byteCount) bytes over \(self.object(object))"
        }
    }

    private static func words(_ action: NetworkAction) -> String {
        switch action {
        case .partition(let groups): "cut \(groups.map { self.peers($0) }.joined(separator: "|"))"
        case .healPartition: "heal"
        case .stall(let left, let right, let length): "stall \(self.peers([left, right])) \(length.word)"
        case .halfOpen(let from, let to, let length): "half-open \(self.direction(from, to)) \(length.word)"
        case .reset(let left, let right): "reset \(self.peers([left, right]))"
        case .cut(let from, let to, let count): "cut \(self.direction(from, to)) after \(count) bytes"
        case .oneSidedCut(let first, let second, let delay): "late close \(self.peers([first, second])) \(delay.word)"
        case .truncate(let from, let to): "truncate \(self.direction(from, to))"
        case .flipBit(let from, let to, let bit): "flip \(self.direction(from, to)) \(bit)"
        case .impersonate: preconditionFailure("it is a line of the impostor's")
        case .refuseDials(let peer, let length): "refuse \(self.peer(peer)) \(length.word)"
        case .dialTogether(let left, let right): "meet \(self.peers([left, right]))"
        }
    }

    private static func direction(_ from: Int, _ to: Int) -> String { "\(self.peer(from))>\(self.peer(to))" }

    private static func words(_ action: StrangerAction) -> String {
        switch action {
        case .replayHandshake: "replays handshake"
        case .replayStream: "replays stream"
        case .garbage(let count): "garbage \(count)"
        case .silence: "silent"
        case .flood(let count): "floods \(count)"
        case .knock(let count): "knocks \(count)"
        }
    }

    private static func words(_ action: HistoryAction) -> String {
        switch action {
        case .undo: "undo"
        case .redo: "redo"
        case .act(let program, let isNew):
            "acts" + (program.map { " as \($0)" } ?? "") + (program != nil && !isNew ? " again" : "")
        case .remember: "remembers"
        case .bringBack(let object): "brings back \(self.object(object))"
        case .compact(let keeping):
            keeping == .milliseconds(0) ? "compacts" : "compacts keeping \(keeping.word)"
        case .forget(let object, let name): "forgets \(self.object(object)).\(name)"
        }
    }

    private static func words(_ action: BranchAction) -> String {
        switch action {
        case .open(let branch, let parent, let isOfThePast):
            "branches \(self.branch(branch))" + (parent.map { " off \(self.branch($0))" } ?? "")
                + (isOfThePast ? " as remembered" : "")
        case .write(let branch, let steps): "on \(self.branch(branch)) \(self.words(steps))"
        case .reverse(let branch, let isRedo): "\(isRedo ? "redo" : "undo") on \(self.branch(branch))"
        case .merge(let branch, let target):
            "merges \(self.branch(branch))" + (target == nil ? "" : " into \(self.branch(target))")
        case .close(let branch): "drops \(self.branch(branch))"
        }
    }

    private static func branch(_ branch: Int?) -> String { branch.map { "b\($0)" } ?? "main" }

    private static func words(_ action: ClockAction) -> String {
        switch action {
        case .offset(milliseconds: 0): "right"
        case .offset(let milliseconds): VirtualTime.word(signedMilliseconds: milliseconds)
        case .epoch: "1970"
        case .drift(let parts): "drift \(parts)ppm"
        case .stuck: "stuck"
        case .jump(let milliseconds): "jump \(VirtualTime.word(signedMilliseconds: milliseconds))"
        }
    }

    private static func words(_ action: ProcessAction) -> String {
        switch action {
        case .kill(let downtime): "kill" + self.words(downtime: downtime)
        case .powerCut(let loss, let downtime): "power cut" + self.words(loss) + self.words(downtime: downtime)
        case .killAtStoreCall(let call, let downtime): "kill at call \(call)" + self.words(downtime: downtime)
        case .powerCutAtStoreCall(let call, let loss, let downtime):
            "power cut at call \(call)" + self.words(loss) + self.words(downtime: downtime)
        case .restart(let downtime, let back):
            "restart" + (back > 0 ? " back \(VirtualTime.milliseconds(back).word)" : "")
                + self.words(downtime: downtime)
        case .pause(let length): "pause \(length.word)"
        }
    }

    private static func words(_ loss: PowerLoss) -> String { loss == .losesAll ? "" : " \(loss.rawValue)" }

    private static func words(downtime: VirtualTime) -> String {
        downtime == ScenarioParser.downtime ? "" : " for \(downtime.word)"
    }

    private static func words(_ action: DiskAction) -> String {
        switch action {
        case .failNext(let call): "disk fails \(call.rawValue)"
        case .fullAfter(let count, let length): "disk full after \(count) bytes for \(length.word)"
        case .full(let length): "disk full \(length.word)"
        case .lie(let length): "disk lies \(length.word)"
        case .flipBit(let seed): "disk rots \(seed)"
        case .alter(let seed): "disk altered \(seed)"
        case .loseLog: "disk loses log"
        case .backUp: "back up"
        case .restore(let isDatabaseAlone): "restore" + (isDatabaseAlone ? " database" : "")
        case .clone(let isDatabaseAlone): "clone" + (isDatabaseAlone ? " database" : "")
        }
    }
}
