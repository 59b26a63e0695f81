internal import CRDTCore
internal import Engine
internal import MergeModel
internal import Persistence

/// What nobody else may ever have: values that their author wrote where he alone reads, in texts that begin with a
/// word that nothing else begins with.
struct Secrets {
    /// The word.
    static let prefix = "secret "
    /// What each ends with, and nothing else in it is.
    fileprivate static let end = UInt8(ascii: ".")
    fileprivate static let byteCountMax = 100

    private struct Secret {
        var text: String
        var user: UserID
        var object: ObjectID
        var name: String
        /// Whether it is a property of its own that was hidden, of an object that may be shared.
        var isHidden: Bool
    }

    private var secrets: [Secret] = []
    private var revealed: Set<[String]> = []

    /// Somebody may show a property again.
    mutating func isRevealed(_ name: String, of object: ObjectID) { self.revealed.insert([object.description, name]) }

    /// Takes note of a write that was acknowledged, if it is one where nobody else reads.
    mutating func wrote(_ text: String, to name: String, of object: ObjectID, on machine: Machine) {
        let (user, founder) = (machine.user, machine.founder)
        let found = machine.look { transaction throws(StoreError) -> Circle? in
            guard let word = try transaction.existingNameIndex(of: name) else { return nil }
            for index in try transaction.objects(of: object)
            where try transaction.valueInCircle(of: word, on: index) == .string(text) {
                return transaction.circles[try transaction.object(index).circle]
            }
            return nil
        }
        let base: Circle = user == founder ? .home : .own(of: user)
        guard let circle = found, circle == base || circle == .hidden(by: user) else { return }
        let isHidden = circle != base
        self.secrets.append(Secret(text: text, user: user, object: object, name: name, isHidden: isHidden))
    }

    /// One that a machine of somebody else has, in words; nil if it has none.
    func leak(on machine: Machine) -> String? {
        let others = self.secrets.filter { secret in
            secret.user != machine.user
                && !(secret.isHidden && self.revealed.contains([secret.object.description, secret.name]))
        }
        guard !others.isEmpty else { return nil }
        let told = machine.texts(after: Self.prefix)
        return others.first { secret in
            told.contains { secret.text == $0 } && (secret.isHidden || !machine.isTold(of: secret.object))
        }
        .map { "it has “\($0.text)”, which was written where its author alone reads" }
    }
}

extension Machine {
    /// Whether an object was ever shared with its user.
    fileprivate func isTold(of object: ObjectID) -> Bool {
        self.look { transaction throws(StoreError) -> Bool in
            for index in try transaction.objects(of: object) {
                if try transaction.object(index).circle != .home { return true }
            }
            // Its creation may be held.
            var isCreated = false
            try transaction.forEachEdit { if case .create(object, _, _) = $0 { isCreated = true } }
            return isCreated
        } ?? true
    }

    /// Whether a text is anywhere on its disk, or in what its log says when it is read.
    func hasText(_ text: String) -> Bool { self.hasBytes(Array(text.utf8)) || !self.texts(after: text).isEmpty }

    private func hasBytes(_ bytes: [UInt8]) -> Bool {
        self.disk.image().files.contains { $0.content.contains(bytes) }
    }

    /// The texts with a beginning that are on its disk, or in what its log says when it is read.
    func texts(after prefix: String) -> Set<String> {
        var found: Set<String> = []
        let start = Array(prefix.utf8)
        for file in self.disk.image().files {
            let content = file.content
            var place = 0
            while place + start.count <= content.count {
                guard content[place] == start[0], content[place..<place + start.count].elementsEqual(start) else {
                    place += 1
                    continue
                }
                let text = content[place...].prefix { $0 != Secrets.end }
                found.insert(String(decoding: text.prefix(Secrets.byteCountMax), as: UTF8.self) + ".")
                place += start.count
            }
        }
        let logged = self.look { transaction throws(StoreError) -> Set<String> in
            var texts: Set<String> = []
            try transaction.forEachEdit { edit in
                if case .set(_, _, .string(let text)) = edit, text.hasPrefix(prefix) { texts.insert(text) }
            }
            return texts
        }
        return found.union(logged ?? [])
    }
}

extension StoreTransaction {
    /// Goes through all that the log says and that can be read.
    fileprivate mutating func forEachEdit(_ body: (Edit) -> Void) throws(StoreError) {
        for index in self.segmentIndices {
            var next = self.segment(index).firstSequence
            while let run = try self.loadRun(of: index, from: next, limits: RunLimits(), signed: false) {
                for operation in run.operations {
                    if let edit = try? run.edit(operation) { body(edit) }
                }
                next = run.lastSequence + 1
            }
        }
    }
}
