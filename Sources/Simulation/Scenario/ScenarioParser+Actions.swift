/// The actions of a scenario.
extension ScenarioParser {
    /// How long a process is away where the text does not say.
    static let downtime = VirtualTime.seconds(1)

    // MARK: - On one peer

    mutating func peerAction(_ peer: Int, _ line: inout ScenarioLine) throws(ScenarioError) -> Action {
        if line.take("clock") { return .clock(peer: peer, try self.clockAction(&line)) }
        if line.take("back", "up") { return .disk(peer: peer, .backUp) }
        if line.take("restore") { return .disk(peer: peer, .restore(isDatabaseAlone: line.take("database"))) }
        if line.take("clone") { return .disk(peer: peer, .clone(isDatabaseAlone: line.take("database"))) }
        if line.take("restamps") { return .restamp(peer: peer) }
        if line.take("undo") { return try self.undo(peer, isRedo: false, &line) }
        if line.take("redo") { return try self.undo(peer, isRedo: true, &line) }
        if line.take("acts") {
            guard line.take("as") else { return .history(peer: peer, .act(program: nil, isNew: true)) }
            let program = try line.number("the number of a program")
            return .history(peer: peer, .act(program: program, isNew: !line.take("again")))
        }
        if line.take("remembers") { return .history(peer: peer, .remember) }
        if line.take("brings", "back") { return .history(peer: peer, .bringBack(try self.object(&line))) }
        if line.take("compacts") {
            let keeping = line.take("keeping") ? try line.duration() : .milliseconds(0)
            return .history(peer: peer, .compact(keeping: keeping))
        }
        if line.take("forgets") {
            let (object, name) = try self.property(&line)
            return .history(peer: peer, .forget(object, name: name))
        }
        if let action = try self.branchAction(&line) { return .branch(peer: peer, action) }
        if let action = try self.sharingAction(&line) { return .sharing(peer: peer, action) }
        if line.take("disk") { return .disk(peer: peer, try self.diskAction(&line)) }
        if line.take("invites") {
            try self.newcomer(&line)
            return .join(inviter: peer)
        }
        if line.take("pairs") { return .pair(inviter: peer, try self.pairingTrouble(&line)) }
        if line.take("hostile") { return try self.hostileAction(peer, &line) }
        if line.take("answers", "for") {
            return .network(.impersonate(try self.peer(&line), by: peer, try line.duration()))
        }
        if line.take("leaves") { return .leave(peer: peer) }
        if let action = try self.processAction(&line) { return .process(peer: peer, action) }
        return .write(peer: peer, try self.steps(&line))
    }

    mutating func steps(_ line: inout ScenarioLine) throws(ScenarioError) -> [WorkStep] {
        var steps = [try self.step(&line)]
        while line.take(";") { steps.append(try self.step(&line)) }
        return steps
    }

    package mutating func step(_ line: inout ScenarioLine) throws(ScenarioError) -> WorkStep {
        if line.take("create") {
            let object = try self.object(&line)
            return .create(object, parent: line.take("under") ? try self.object(&line) : nil)
        }
        if line.take("set") {
            let (object, name) = try self.property(&line)
            let number = Workload.propertyNames.firstIndex(of: name)
            // Without a text: a value that nobody else writes.
            let isValueLeftOut = line.isAtEnd || line.peek == ";" || line.peek == "else"
            if let number, isValueLeftOut { return .set(object, property: number) }
            return .assign(object, name: name, text: try line.text())
        }
        if line.take("unset") {
            let (object, name) = try self.property(&line)
            if let number = Workload.propertyNames.firstIndex(of: name) { return .unset(object, property: number) }
            return .clear(object, name: name)
        }
        if line.take("twins") { return .twins }
        if line.take("insert", "under") {
            let parent = try self.object(&line)
            return .insert(under: parent, before: line.take("before") ? try self.object(&line) : nil)
        }
        if line.take("fill") {
            let object = try self.object(&line)
            try line.expect("with")
            return .fill(object, count: try line.number("a number of objects"))
        }
        if line.take("spread") {
            let count = try line.number("a number of names")
            try line.expect("names")
            try line.expect("of")
            let byteCount = try line.number("a number of bytes")
            try line.expect("bytes")
            try line.expect("over")
            return .spread(try self.object(&line), count: count, nameByteCount: byteCount)
        }
        if line.take("move") {
            let object = try self.object(&line)
            if line.take("to", "root") { return .move(object, parent: nil) }
            try line.expect("under")
            return .move(object, parent: try self.object(&line))
        }
        if line.take("delete") { return .delete(try self.object(&line)) }
        throw line.failure("“\(line.peek ?? "")” is nothing that a peer can do")
    }

    private func clockAction(_ line: inout ScenarioLine) throws(ScenarioError) -> ClockAction {
        if line.take("right") { return .offset(milliseconds: 0) }
        if line.take("1970") { return .epoch }
        if line.take("stuck") { return .stuck }
        if line.take("drift") {
            let parts = try line.word("how fast the clock is", else: "not how fast a clock can be") { word in
                word.hasSuffix("ppm") ? Int(word.dropLast(3)).flatMap { abs($0) < 1_000_000 ? $0 : nil } : nil
            }
            return .drift(partsPerMillion: parts)
        }
        let isJump = line.take("jump")
        let what = "how far the clock is off"
        let milliseconds = try line.signedMilliseconds(what, else: "not how far a clock can be off")
        return isJump ? .jump(milliseconds: milliseconds) : .offset(milliseconds: milliseconds)
    }

    private func diskAction(_ line: inout ScenarioLine) throws(ScenarioError) -> DiskAction {
        if line.take("full", "after") {
            let count = try line.number("a number of bytes")
            try line.expect("bytes")
            try line.expect("for")
            return .fullAfter(byteCount: count, try line.duration())
        }
        if line.take("full") { return .full(try line.duration()) }
        if line.take("lies") { return .lie(try line.duration()) }
        if line.take("loses", "log") { return .loseLog }
        if line.take("altered") { return .alter(seed: try line.number("a seed")) }
        if line.take("rots") { return .flipBit(seed: try line.number("a seed")) }
        try line.expect("fails")
        return .failNext(try line.word("a kind of store call", else: "not a kind of store call", DiskCall.init))
    }

    private func processAction(_ line: inout ScenarioLine) throws(ScenarioError) -> ProcessAction? {
        if line.take("pause") { return .pause(try line.duration()) }
        if line.take("restart") {
            let back = line.take("back") ? try line.duration() : .zero
            return .restart(downtime: try self.downtime(&line), clockBackMilliseconds: back.milliseconds)
        }
        if line.take("kill") {
            if line.take("at", "call") {
                let call = try line.number("a number of store calls")
                return .killAtStoreCall(call, downtime: try self.downtime(&line))
            }
            return .kill(downtime: try self.downtime(&line))
        }
        guard line.take("power", "cut") else { return nil }
        let call = line.take("at", "call") ? try line.number("a number of store calls") : nil
        let outcome = PowerLoss.allCases.first { line.take($0.rawValue) } ?? .losesAll
        let downtime = try self.downtime(&line)
        guard let call else { return .powerCut(outcome, downtime: downtime) }
        return .powerCutAtStoreCall(call, outcome, downtime: downtime)
    }

    private func downtime(_ line: inout ScenarioLine) throws(ScenarioError) -> VirtualTime {
        line.take("for") ? try line.duration() : ScenarioParser.downtime
    }

    // MARK: - On the world

    mutating func worldAction(_ line: inout ScenarioLine) throws(ScenarioError) -> Action {
        if line.take("stranger") {
            let peer = try self.peer(&line)
            return .stranger(peer: peer, try self.strangerAction(&line))
        }
        return .network(try self.networkAction(&line))
    }

    private func strangerAction(_ line: inout ScenarioLine) throws(ScenarioError) -> StrangerAction {
        if line.take("replays", "handshake") { return .replayHandshake }
        if line.take("replays", "stream") { return .replayStream }
        if line.take("garbage") { return .garbage(byteCount: try line.number("a number of bytes")) }
        if line.take("silent") { return .silence }
        if line.take("knocks") { return .knock(count: try line.number("a number of times")) }
        try line.expect("floods")
        return .flood(connectionCount: try line.number("a number of connections"))
    }

    private func networkAction(_ line: inout ScenarioLine) throws(ScenarioError) -> NetworkAction {
        if line.take("heal") { return .healPartition }
        if line.take("cut") { return try self.cut(&line) }
        if line.take("reset") { return .reset(try self.peer(&line), try self.peer(&line)) }
        if line.take("meet") { return .dialTogether(try self.peer(&line), try self.peer(&line)) }
        if line.take("stall") { return .stall(try self.peer(&line), try self.peer(&line), try line.duration()) }
        if line.take("refuse") { return .refuseDials(to: try self.peer(&line), try line.duration()) }
        if line.take("late", "close") {
            return .oneSidedCut(try self.peer(&line), try self.peer(&line), try line.duration())
        }
        if line.take("half-open") {
            let (from, to) = try self.direction(&line)
            return .halfOpen(from: from, to: to, try line.duration())
        }
        if line.take("truncate") {
            let (from, to) = try self.direction(&line)
            return .truncate(from: from, to: to)
        }
        if line.take("flip") {
            let (from, to) = try self.direction(&line)
            return .flipBit(from: from, to: to, bit: try line.number("a bit"))
        }
        throw line.failure("“\(line.peek ?? "")” is not a statement")
    }

    private func direction(_ line: inout ScenarioLine) throws(ScenarioError) -> (from: Int, to: Int) {
        let from = try self.peer(&line)
        try line.expect(">")
        return (from, try self.peer(&line))
    }

    /// `cut A|B C`: groups that do not reach each other; `cut A>B after 100 bytes`: one connection.
    private func cut(_ line: inout ScenarioLine) throws(ScenarioError) -> NetworkAction {
        var groups = [[try self.peer(&line)]]
        if line.take(">") {
            let to = try self.peer(&line)
            try line.expect("after")
            let count = try line.number("a number of bytes")
            try line.expect("bytes")
            return .cut(from: groups[0][0], to: to, afterByteCount: count)
        }
        while !line.isAtEnd {
            if line.take("|") { groups.append([]) }
            groups[groups.count - 1].append(try self.peer(&line))
        }
        let named = groups.flatMap { $0 }
        let others = self.scenario.peers.indices.filter { !named.contains($0) }
        return .partition(others.isEmpty ? groups : groups + [others])
    }
}
