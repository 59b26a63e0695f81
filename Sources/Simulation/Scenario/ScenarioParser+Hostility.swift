/// What members and newcomers do in a scenario that nobody should.
extension ScenarioParser {
    mutating func hostileAction(_ peer: Int, _ line: inout ScenarioLine) throws(ScenarioError) -> Action {
        if line.take("stays") { return .hostile(peer: peer, victim: peer, .stay) }
        let verb = try line.word("what a hostile member does")
        let victim = try self.peer(&line)
        guard victim != peer else { throw line.failure("a hostile member does nothing to itself") }
        return .hostile(peer: peer, victim: victim, try self.hostility(verb, &line))
    }

    private mutating func hostility(_ verb: String, _ line: inout ScenarioLine) throws(ScenarioError) -> HostileAction {
        switch verb {
        case "writes": return .write(try self.hostileChange(&line))
        case "equivocates" where ["on", "in", "does", "back"].contains(line.peek):
            let back = line.take("back") ? try line.number("a number of changes") : 0
            let change = try self.hostileChange(&line)
            try line.expect("else")
            let other = try self.peer(&line)
            return .equivocate(change, other: other, try self.step(&line), back: back)
        case "equivocates":
            let (object, name) = try self.property(&line)
            let step = WorkStep.assign(object, name: name, text: try line.text())
            let other = try self.peer(&line)
            let otherStep = WorkStep.assign(object, name: name, text: try line.text())
            let back = line.take("back") ? try line.number("a number of changes") : 0
            let chain = try self.chain(&line)
            return .equivocate(HostileChange(chain: chain, step: step), other: other, otherStep, back: back)
        case "replays": return .replay
        case "withholds": return .withhold
        case "claims": return .claim
        case "names": return .name(try self.hostileChange(&line))
        case "orphans": return .orphan(try self.hostileChange(&line))
        case "stamps":
            if line.take("last") { return .stampAhead(try self.hostileChange(&line), milliseconds: nil) }
            let ahead = try line.duration()
            return .stampAhead(try self.hostileChange(&line), milliseconds: ahead.milliseconds)
        case "backdates": return .backdate(try self.hostileChange(&line))
        case "forks":
            let count = try line.number("a number of forks")
            return .fork(try self.hostileChange(&line), count: count)
        case "restamps":
            let isOwn = line.take("own")
            if !isOwn { try line.expect("all") }
            return .restamp(isOwn: isOwn, count: try line.number("a number of changes"))
        case "reverses": return .reverse
        case "spoils":
            let spoiling = try line.word("how a run is spoiled", else: "no way to spoil a run", Spoiling.init)
            return .spoil(spoiling, try self.hostileChange(&line))
        case "grants":
            let peer = try self.peer(&line)
            try line.expect("as")
            let role = try self.role(&line)
            return .declare(try self.chain(&line), about: peer, role)
        case "removes":
            let peer = try self.peer(&line)
            return .declare(try self.chain(&line), about: peer, nil)
        case "garbles": return .garble(seed: try line.number("a seed"))
        case "dawdles": return .dawdle
        case "floods":
            let flooding = try line.word("what to flood with", else: "no flood", Flooding.init)
            return .flood(flooding, count: try line.number("a number"))
        default: throw line.failure("“\(verb)” is nothing that a hostile member does")
        }
    }

    /// An object's property, a text, and on which chain it is written; or any step after “does”.
    private mutating func hostileChange(_ line: inout ScenarioLine) throws(ScenarioError) -> HostileChange {
        let first = try self.chain(&line)
        if line.take("does") { return HostileChange(chain: first, step: try self.step(&line)) }
        let (object, name) = try self.property(&line)
        let text = try line.text()
        let chain = try self.chain(&line)
        return HostileChange(chain: chain, step: .assign(object, name: name, text: text))
    }

    /// `on 1 in x`: its chain 1 in the circle that the object is in.
    private mutating func chain(_ line: inout ScenarioLine) throws(ScenarioError) -> HostileChainName {
        let number = line.take("on") ? try line.number("a chain") : 0
        return HostileChainName(number, in: line.take("in") ? try self.object(&line) : nil)
    }

    func pairingTrouble(_ line: inout ScenarioLine) throws(ScenarioError) -> PairingTrouble {
        if line.take("cut") {
            let isOwn = line.take("there")
            if !isOwn { try line.expect("back") }
            return .cut(fromNewcomer: isOwn, afterByteCount: try line.number("a number of bytes"))
        }
        if line.take("killed") { return .inviterKilled(afterMessageCount: try line.number("a number of messages")) }
        if line.take("ends", "at", "call") { return .inviterEnds(atStoreCall: try line.number("a number of calls")) }
        if line.take("deserted") { return .newcomerGone(afterMessageCount: try line.number("a number of messages")) }
        if line.take("replayed") { return .replayed }
        if line.take("wrong") { return .wrongSecret }
        if line.take("expired") { return .expired }
        return line.take("twice") ? .usedTwice : .none
    }
}
