/// What members and newcomers do that nobody should, in the language of scenarios.
extension ScenarioText {
    package static func words(_ action: HostileAction, against victim: String) -> String {
        switch action {
        case .write(let change): return "writes \(victim)\(self.words(change))"
        case .equivocate(let change, let other, let step, let back):
            let depth = back > 0 ? " back \(back)" : ""
            return "equivocates \(victim)\(depth)\(self.words(change)) else \(self.peer(other)) \(self.words(step))"
        case .replay: return "replays \(victim)"
        case .withhold: return "withholds \(victim)"
        case .claim: return "claims \(victim)"
        case .name(let change): return "names \(victim)\(self.words(change))"
        case .orphan(let change): return "orphans \(victim)\(self.words(change))"
        case .stampAhead(let change, let milliseconds):
            let ahead = milliseconds.map { VirtualTime.milliseconds($0).word } ?? "last"
            return "stamps \(victim) \(ahead)\(self.words(change))"
        case .backdate(let change): return "backdates \(victim)\(self.words(change))"
        case .fork(let change, let count): return "forks \(victim) \(count)\(self.words(change))"
        case .restamp(let isOwn, let count): return "restamps \(victim) \(isOwn ? "own" : "all") \(count)"
        case .reverse: return "reverses \(victim)"
        case .spoil(let spoiling, let change): return "spoils \(victim) \(spoiling.rawValue)\(self.words(change))"
        case .declare(let chain, let peer, let role):
            let said = role.map { "grants \(victim) \(self.peer(peer)) as \(self.word($0))" }
            return (said ?? "removes \(victim) \(self.peer(peer))") + self.words(chain)
        case .garble(let seed): return "garbles \(victim) \(seed)"
        case .dawdle: return "dawdles \(victim)"
        case .flood(let flooding, let count): return "floods \(victim) \(flooding.rawValue) \(count)"
        case .stay: return "stays"
        }
    }

    private static func words(_ chain: HostileChainName) -> String {
        (chain.number > 0 ? " on \(chain.number)" : "") + (chain.object.map { " in \(self.object($0))" } ?? "")
    }

    private static func words(_ change: HostileChange) -> String {
        self.words(change.chain) + " does \(self.words(change.step))"
    }

    package static func words(_ trouble: PairingTrouble) -> String {
        switch trouble {
        case .none: ""
        case .cut(let isOwn, let count): " cut \(isOwn ? "there" : "back") \(count)"
        case .inviterKilled(let count): " killed \(count)"
        case .inviterEnds(let call): " ends at call \(call)"
        case .newcomerGone(let count): " deserted \(count)"
        case .replayed: " replayed"
        case .wrongSecret: " wrong"
        case .expired: " expired"
        case .usedTwice: " twice"
        }
    }
}
