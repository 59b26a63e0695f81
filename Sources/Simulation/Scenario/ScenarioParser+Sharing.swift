internal import CRDTCore

/// What people share in a scenario.
extension ScenarioParser {
    /// Nil if the line is about something else.
    mutating func sharingAction(_ line: inout ScenarioLine) throws(ScenarioError) -> SharingAction? {
        if line.take("shares") {
            guard line.peek?.contains(".") ?? false else { return try self.share(&line) }
            let (object, name) = try self.property(&line)
            let (peer, role) = try self.guest(&line)
            return .shareProperty(object, name: name, with: peer, role)
        }
        if line.take("unshares") {
            guard line.peek?.contains(".") ?? false else {
                let object = try self.object(&line)
                return .unshare(object, from: try self.formerGuest(&line))
            }
            let (object, name) = try self.property(&line)
            return .unshareProperty(object, name: name, from: try self.formerGuest(&line))
        }
        if line.take("gives", "up") { return .leave(try self.object(&line)) }
        if line.take("hides") {
            let (object, name) = try self.property(&line)
            return .hide(object, name: name)
        }
        if line.take("shows") {
            let (object, name) = try self.property(&line)
            return .unhide(object, name: name)
        }
        if line.take("removes") {
            let peer = try self.peer(&line)
            return .removeDevice(peer, keeping: line.take("keeping") ? try self.peers(&line) : [])
        }
        if line.take("recovers") { return .recover }
        if line.take("readmits") { return .readmit(try self.peer(&line)) }
        return line.take("dismisses") ? .dismiss(try self.peer(&line)) : nil
    }

    private mutating func share(_ line: inout ScenarioLine) throws(ScenarioError) -> SharingAction {
        let object = try self.object(&line)
        let (peer, role) = try self.guest(&line)
        guard line.take("of") else { return .share(object, with: peer, role, names: nil) }
        guard role == .writer else { throw line.failure("only a writer may be one of some properties") }
        var names = [try line.word("a property")]
        while !line.isAtEnd { names.append(try line.word("a property")) }
        return .share(object, with: peer, role, names: names)
    }

    /// `with C as reader`.
    private func guest(_ line: inout ScenarioLine) throws(ScenarioError) -> (peer: Int, role: Role) {
        try line.expect("with")
        let peer = try self.peer(&line)
        guard line.take("as") else { return (peer, .writer) }
        return (peer, try self.role(&line))
    }

    func role(_ line: inout ScenarioLine) throws(ScenarioError) -> Role {
        try line.word("a role", else: "not a role") { word in
            Role.allCases.first { ScenarioText.word($0) == word }
        }
    }

    /// `from C`.
    private func formerGuest(_ line: inout ScenarioLine) throws(ScenarioError) -> Int {
        try line.expect("from")
        return try self.peer(&line)
    }
}

/// The same in words.
extension ScenarioText {
    static func word(_ role: Role) -> String {
        switch role {
        case .manager: "manager"
        case .writer: "writer"
        case .reader: "reader"
        }
    }

    static func words(_ action: SharingAction) -> String {
        switch action {
        case .share(let object, let peer, let role, let names):
            "shares \(self.object(object)) with \(self.peer(peer))" + self.words(role)
                + (names.map { (role == .writer ? " as writer" : "") + " of \($0.joined(separator: " "))" } ?? "")
        case .unshare(let object, let peer): "unshares \(self.object(object)) from \(self.peer(peer))"
        case .leave(let object): "gives up \(self.object(object))"
        case .hide(let object, let name): "hides \(self.object(object)).\(name)"
        case .unhide(let object, let name): "shows \(self.object(object)).\(name)"
        case .shareProperty(let object, let name, let peer, let role):
            "shares \(self.object(object)).\(name) with \(self.peer(peer))" + self.words(role)
        case .unshareProperty(let object, let name, let peer):
            "unshares \(self.object(object)).\(name) from \(self.peer(peer))"
        case .removeDevice(let peer, let kept):
            "removes \(self.peer(peer))" + (kept.isEmpty ? "" : " keeping \(self.peers(kept))")
        case .recover: "recovers"
        case .dismiss(let peer): "dismisses \(self.peer(peer))"
        case .readmit(let peer): "readmits \(self.peer(peer))"
        }
    }

    private static func words(_ role: Role) -> String { role == .writer ? "" : " as \(self.word(role))" }
}
