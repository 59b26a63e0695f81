/// Reads scenarios: one statement a line, `#` before a remark.
package struct ScenarioParser {
    package var scenario = Scenario()
    /// Objects by the names they were given, numbered in the order in which they came up.
    private var objects: [String: Int] = [:]
    /// Those who join, in the order of their invites, by their names.
    private var newcomers: [String] = []
    /// Branches by the names they were given.
    var branches: [String: Int] = [:]
    /// Where blocks that are open begin among the statements, and how often they are done.
    private var blocks: [(start: Int, count: Int)] = []

    /// The most times that one line may be done.
    private static let repetitionCountMax = 10_000
    /// The most statements that a scenario may come to.
    private static let statementCountMax = 1_000_000
    private static let firstNamedObject = 3_000

    package static func parse(_ text: String) throws(ScenarioError) -> Scenario {
        var parser = ScenarioParser()
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (position, line) in lines.enumerated() {
            var line = try ScenarioLine(line, number: position + 1)
            if line.isAtEnd { continue }
            try parser.parse(&line)
            try line.end()
        }
        guard !parser.scenario.peers.isEmpty else { throw ScenarioError(line: 1, message: "“peers” is missing") }
        guard parser.blocks.isEmpty else { throw ScenarioError(line: lines.count, message: "“end” is missing") }
        return parser.scenario
    }

    private mutating func parse(_ line: inout ScenarioLine) throws(ScenarioError) {
        if try self.parseHeader(&line) { return }
        guard !self.scenario.peers.isEmpty else { throw line.failure("the first line says who the peers are") }
        let count = line.take("repeat") ? try line.number("how often") : 1
        guard count <= ScenarioParser.repetitionCountMax else { throw line.failure("\(count) times is too often") }
        if line.take("times") { return self.blocks.append((self.scenario.statements.count, count)) }
        if line.take("end") { return try self.endBlock(line) }
        let time = count == 1 ? try self.time(&line) : nil
        let content: Scenario.Content
        if time == nil, line.take("wait") {
            content = .wait(try line.duration())
        } else if line.take("settle") {
            content = .settle(core: try self.core(&line))
        } else if time == nil, line.take("expect") {
            content = .expect(try self.expectation(try self.expectation(&line), placedBy: &line))
        } else if let word = line.peek, word.hasSuffix(":") {
            _ = try line.word("a peer")
            content = .action(try self.peerAction(try self.peer(String(word.dropLast()), line), &line))
        } else {
            content = .action(try self.worldAction(&line))
        }
        let statement = Scenario.Statement(line: line.number, time: time, content: content)
        self.scenario.statements += Array(repeating: statement, count: count)
    }

    /// `repeat 100 times` and `end`: what stands between them is done so often.
    private mutating func endBlock(_ line: ScenarioLine) throws(ScenarioError) {
        guard let block = self.blocks.popLast() else { throw line.failure("“end” ends nothing") }
        let statements = self.scenario.statements[block.start...]
        guard statements.count * block.count <= ScenarioParser.statementCountMax else {
            throw line.failure("\(statements.count) lines, \(block.count) times, are too many")
        }
        guard statements.allSatisfy({ $0.time == nil }) else { throw line.failure("a time in a block") }
        for _ in 1..<max(1, block.count) { self.scenario.statements += statements }
    }

    /// `at 3s`: such lines come first, in the order of their times, and a `settle` is the last of them.
    private func time(_ line: inout ScenarioLine) throws(ScenarioError) -> VirtualTime? {
        guard line.take("at") else { return nil }
        let time = try line.duration()
        guard let last = self.scenario.statements.last else { return time }
        guard let earlier = last.time else { throw line.failure("“at” comes after a line without a time") }
        if case .settle = last.content { throw line.failure("“at” comes after “settle”") }
        guard earlier <= time else { throw line.failure("“at \(time.word)” comes after “at \(earlier.word)”") }
        return time
    }

    private mutating func parseHeader(_ line: inout ScenarioLine) throws(ScenarioError) -> Bool {
        if line.take("peers") {
            while !line.isAtEnd { self.scenario.peers.append(try line.word("a peer")) }
            guard Set(self.scenario.peers).count == self.scenario.peers.count else {
                throw line.failure("two peers have one name")
            }
        } else if line.take("person") {
            let user = (self.scenario.users.max() ?? 0) + 1
            if self.scenario.users.isEmpty { self.scenario.users = self.scenario.peers.map { _ in 0 } }
            while !line.isAtEnd {
                let peer = try self.peer(&line)
                guard peer > 0 else { throw line.failure("the first peer is that of who founds the workspace") }
                self.scenario.users[peer] = user
            }
            guard self.scenario.users.contains(user) else { throw line.failure("a peer is missing") }
        } else if line.take("topology") {
            self.scenario.topology = try line.word("a topology", else: "not a topology", Topology.init)
        } else if line.take("links") {
            self.scenario.links = try line.word("a class of links", else: "not a class of links", LinkClass.init)
        } else if line.take("faults") {
            while !line.isAtEnd { self.scenario.faults.insert(try self.networkSwitch(&line)) }
        } else if line.take("network", "plain") {
            self.scenario.isNetworkPlain = true
        } else if line.take("ends", "when", "equal") {
            self.scenario.endsWhenEqual = true
        } else if line.take("limits", "shipped") {
            self.scenario.hasShippedLimits = true
        } else if line.take("seed") {
            self.scenario.seed = try line.word("a seed", else: "not a seed") { UInt64($0) }
        } else if line.take("checkpoint") {
            self.scenario.checkpointPageCount = try line.number("a number of pages")
        } else {
            return false
        }
        return true
    }

    private func networkSwitch(_ line: inout ScenarioLine) throws(ScenarioError) -> Fault {
        try line.word("a fault", else: "not a fault that lasts") { word in
            Fault.switches.first { $0.rawValue == word }
        }
    }

    // MARK: - Names

    package func peer(_ name: String, _ line: ScenarioLine) throws(ScenarioError) -> Int {
        guard let number = (self.scenario.peers + self.newcomers).firstIndex(of: name) else {
            throw line.failure("“\(name)” is not a peer")
        }
        return number
    }

    package func peer(_ line: inout ScenarioLine) throws(ScenarioError) -> Int {
        try self.peer(try line.word("a peer"), line)
    }

    func isPeer(_ name: String?) -> Bool {
        name.map { self.scenario.peers.contains($0) || self.newcomers.contains($0) } ?? false
    }

    /// Somebody joins: he has the next number, and if he is given no name, the letter of that, or none if it is taken.
    mutating func newcomer(_ line: inout ScenarioLine) throws(ScenarioError) {
        let letter = ScenarioText.peer(self.scenario.peers.count + self.newcomers.count)
        let name = line.isAtEnd ? (self.isPeer(letter) ? "" : letter) : try line.word("a peer")
        guard name.isEmpty || !self.isPeer(name) else { throw line.failure("two peers have one name") }
        self.newcomers.append(name)
    }

    /// Those that the rest of a line names.
    func peers(_ line: inout ScenarioLine) throws(ScenarioError) -> [Int] {
        var peers = [try self.peer(&line)]
        while !line.isAtEnd { peers.append(try self.peer(&line)) }
        return peers
    }

    package mutating func object(_ line: inout ScenarioLine) throws(ScenarioError) -> Int {
        self.object(try line.word("an object"))
    }

    /// `o7` is object 7; any other name is given a number beyond those of plans.
    private mutating func object(_ name: String) -> Int {
        if name.first == "o", let number = UInt32(name.dropFirst()) { return Int(number) }
        if let number = self.objects[name] { return number }
        let number = ScenarioParser.firstNamedObject + self.objects.count
        self.objects[name] = number
        return number
    }

    /// An object and one of its properties, with a dot in between.
    package mutating func property(_ line: inout ScenarioLine) throws(ScenarioError) -> (object: Int, name: String) {
        let word = try line.word("an object and a property")
        guard let dot = word.firstIndex(of: "."), dot != word.startIndex else {
            throw line.failure("“\(word)” is not an object and a property")
        }
        return (self.object(String(word[..<dot])), String(word[word.index(after: dot)...]))
    }

    private func core(_ line: inout ScenarioLine) throws(ScenarioError) -> [Int] {
        if line.isAtEnd { return Array(self.scenario.peers.indices) }
        var core: [Int] = []
        while !line.isAtEnd { core.append(try self.peer(&line)) }
        return core
    }

    // MARK: - Expectations

    private mutating func expectation(_ line: inout ScenarioLine) throws(ScenarioError) -> Expectation {
        if line.take("seen") { return .seen(try self.mark(&line)) }
        if line.take("never", "seen") { return .neverSeen(try self.mark(&line)) }
        if line.take("waiting") { return .waiting(try line.number("a number of changes")) }
        if line.take("forked") { return .forked(try line.number("a number of chains")) }
        if line.take("members") { return .members(try line.number("a number of devices")) }
        if line.take("replicas") { return .replicas(try line.number("a number of replicas")) }
        if line.take("delivered", "at", "most") {
            let count = try line.number("a number of bytes")
            try line.expect("bytes")
            return .deliveredAtMost(byteCount: count)
        }
        if line.take("version") {
            let (object, name) = try self.property(&line)
            return .version(object, property: name, try line.number("the number of a version"))
        }
        if line.take("kept") {
            let peer = try self.peer(&line)
            let (object, name) = try self.property(&line)
            return .kept(peer: peer, object, property: name, try line.number("a number of writes"))
        }
        if line.take("untold") {
            let text = try line.text()
            try line.expect("on")
            return .untold(try self.peers(&line), text: text)
        }
        if line.take("apart") { return .apart(try self.peers(&line)) }
        if line.take("left") { return .left(try self.object(&line), true) }
        if line.take("nothing", "left") { return .left(try self.object(&line), false) }
        if line.take("branch") { return .branch(try self.branch(&line)) }
        if line.take("no", "branch") { return .noBranch(try self.branch(&line)) }
        if line.take("no", "conflict") {
            guard line.peek?.contains(".") ?? false else { return .noMoveConflict(try self.object(&line)) }
            let (object, name) = try self.property(&line)
            return .noConflict(object, property: name)
        }
        if line.take("conflict") {
            guard line.peek?.contains(".") ?? false else {
                let object = try self.object(&line)
                if line.take("at", "root") { return .moveConflict(object, under: nil) }
                try line.expect("under")
                return .moveConflict(object, under: try self.object(&line))
            }
            let (object, name) = try self.property(&line)
            return .conflict(object, property: name, text: try line.text())
        }
        if line.peek?.contains(".") ?? false {
            let (object, name) = try self.property(&line)
            if line.take("none") { return .value(object, property: name, anyOf: []) }
            var texts = [try line.text()]
            while line.take("or") { texts.append(try line.text()) }
            return .value(object, property: name, anyOf: texts)
        }
        let object = try self.object(&line)
        if line.take("exists") { return .exists(object) }
        if line.take("gone") { return .isGone(object) }
        if line.take("at", "root") { return .stands(object, under: nil) }
        try line.expect("under")
        return .stands(object, under: try self.object(&line))
    }

    private func mark(_ line: inout ScenarioLine) throws(ScenarioError) -> Mark {
        try line.word("a mark", else: "not a mark", Mark.init)
    }
}
