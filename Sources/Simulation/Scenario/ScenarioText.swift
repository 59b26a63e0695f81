internal import CRDTCore
internal import PeerCrypto

/// Writes scenarios: read back, what it writes is the same scenario.
package enum ScenarioText {
    /// One line a statement, defaults left out; peers by letter, objects by number.
    package static func lines(_ scenario: Scenario) -> [String] {
        var lines = ["peers \(self.peers(Array(scenario.peers.indices)))"]
        for user in 1..<max(1, (scenario.users.max() ?? 0) + 1) {
            lines.append("person \(self.peers(scenario.users.indices.filter { scenario.users[$0] == user }))")
        }
        if scenario.topology != .mesh { lines.append("topology \(scenario.topology.rawValue)") }
        if scenario.links != .lan { lines.append("links \(scenario.links.rawValue)") }
        let faults = Fault.allCases.filter { scenario.faults.contains($0) }
        if !faults.isEmpty { lines.append("faults \(faults.map(\.rawValue).joined(separator: " "))") }
        if scenario.checkpointPageCount != Scenario.usualCheckpointPageCount {
            lines.append("checkpoint \(scenario.checkpointPageCount)")
        }
        if scenario.hasShippedLimits { lines.append("limits shipped") }
        if scenario.endsWhenEqual { lines.append("ends when equal") }
        if scenario.seed != 1 { lines.append("seed \(scenario.seed)") }
        if scenario.isNetworkPlain { lines.append("network plain") }
        for statement in scenario.statements {
            let time = statement.time.map { "at \($0.word) " } ?? ""
            lines.append(time + self.line(statement.content, of: scenario))
        }
        return lines
    }

    /// A letter for each peer; there are few.
    package static func peer(_ number: Int) -> String {
        number < 26 ? String(Character(Unicode.Scalar(UInt8(65 + number)))) : "P\(number)"
    }

    package static func peers(_ numbers: [Int]) -> String { numbers.map { self.peer($0) }.joined(separator: " ") }

    package static func object(_ number: Int) -> String { "o\(number)" }

    private static func line(_ content: Scenario.Content, of scenario: Scenario) -> String {
        switch content {
        case .action(let action): return self.line(action)
        case .wait(let length): return "wait \(length.word)"
        case .settle(let core):
            return core == Array(scenario.peers.indices) ? "settle" : "settle \(self.peers(core))"
        case .expect(let expectation): return "expect \(self.words(expectation))"
        }
    }

    private static func words(_ expectation: Expectation) -> String {
        switch expectation {
        case .exists(let object): return "\(self.object(object)) exists"
        case .isGone(let object): return "\(self.object(object)) gone"
        case .stands(let object, let parent):
            return "\(self.object(object)) " + (parent.map { "under \(self.object($0))" } ?? "at root")
        case .value(let object, let property, let texts):
            let values = texts.isEmpty ? "none" : texts.map { "\"\($0)\"" }.joined(separator: " or ")
            return "\(self.object(object)).\(property) \(values)"
        case .conflict(let object, let property, let text):
            return "conflict \(self.object(object)).\(property) \"\(text)\""
        case .version(let object, let property, let number):
            return "version \(self.object(object)).\(property) \(number)"
        case .kept(let peer, let object, let property, let count):
            return "kept \(self.peer(peer)) \(self.object(object)).\(property) \(count)"
        case .noConflict(let object, let property): return "no conflict \(self.object(object)).\(property)"
        case .waiting(let count): return "waiting \(count)"
        case .forked(let count): return "forked \(count)"
        case .moveConflict(let object, let parent):
            return "conflict \(self.object(object)) " + (parent.map { "under \(self.object($0))" } ?? "at root")
        case .noMoveConflict(let object): return "no conflict \(self.object(object))"
        case .members(let count): return "members \(count)"
        case .replicas(let count): return "replicas \(count)"
        case .deliveredAtMost(let count): return "delivered at most \(count) bytes"
        case .on(let peers, let expectation): return "\(self.words(expectation)) on \(self.peers(peers))"
        case .apart(let peers): return "apart \(self.peers(peers))"
        case .untold(let peers, let text): return "untold \"\(text)\" on \(self.peers(peers))"
        case .left(let object, let isLeft): return (isLeft ? "" : "nothing ") + "left \(self.object(object))"
        case .branch(let branch): return "branch b\(branch)"
        case .noBranch(let branch): return "no branch b\(branch)"
        case .onBranch(let branch, let expectation): return "\(self.words(expectation)) on b\(branch)"
        case .seen(let mark): return "seen \(mark.rawValue)"
        case .neverSeen(let mark): return "never seen \(mark.rawValue)"
        }
    }
}

extension Scenario {
    /// What it says, without remarks and with names that follow from its order.
    package var lines: [String] { ScenarioText.lines(self) }

    /// Tells scenarios apart that mean different things.
    package var meaningHash: String {
        var hasher = Blake2b.Hasher256(HashPersonal("peerd/scenario"))
        var text = self.lines.joined(separator: "\n")
        text.withUTF8 { hasher.update(UnsafeRawBufferPointer($0)) }
        let digest = hasher.finalize()
        return String(Hexadecimal.text(Bytes32(digest.0, digest.1, digest.2, digest.3).array).prefix(8))
    }
}
