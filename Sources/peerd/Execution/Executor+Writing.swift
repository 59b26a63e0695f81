internal import CRDTCore
internal import Engine
internal import PeerdKit
internal import Persistence

/// The verbs that change objects. Without `--json` they print nothing but the id of a new object.
extension Executor {
    func create(_ creation: Request.Creation, _ output: CommandOutput) async throws {
        let parent = try await self.read { transaction in
            try ObjectLookup.find(creation.parent, in: &transaction)
        }
        var properties: [ExactText: Value] = [:]
        for assignment in creation.assignments {
            properties[ExactText(assignment.name)] = Value(argument: assignment.value)
        }
        let step = Transaction.Step.create(
            Transaction.Creation(
                id: creation.key.map { .key($0) } ?? .random,
                type: creation.type,
                kind: creation.kind,
                parent: parent?.id,
                properties: properties
            )
        )
        let receipt = try await self.write([step])
        guard let created = receipt.created.first else {
            throw CommandFailure(.failure, "The object was not created; try again.")
        }
        if output.format.isJSON {
            try await self.report(receipt, object: created, output)
        } else {
            try await output.line(created.description)
        }
    }

    func set(_ object: String, _ assignments: [Request.Assignment], _ output: CommandOutput) async throws {
        let found = try await self.find(object)
        let steps = assignments.map { assignment in
            Transaction.Step.set(found.id, name: assignment.name, value: Value(argument: assignment.value))
        }
        try await self.report(try await self.write(steps), object: found.id, output)
    }

    func unset(_ object: String, _ name: String, _ output: CommandOutput) async throws {
        let found = try await self.read { transaction in
            let found: FoundObject = try ObjectLookup.find(object, in: &transaction)
            guard try transaction.property(name, of: found.index) != nil else {
                throw CommandFailure.noProperty(name, of: found.id)
            }
            return found
        }
        try await self.report(try await self.write([.unset(found.id, name: name)]), object: found.id, output)
    }

    func move(_ object: String, _ parent: String?, _ before: String?, _ output: CommandOutput) async throws {
        let (found, under, sibling) = try await self.read { transaction in
            let found: FoundObject = try ObjectLookup.find(object, in: &transaction)
            return (
                found,
                try ObjectLookup.find(parent, in: &transaction),
                try ObjectLookup.find(before, in: &transaction)
            )
        }
        if sibling == found {
            throw CommandFailure(.failure, "\(found.id) cannot be placed before itself; name another sibling.")
        }
        let step = Transaction.Step.move(found.id, parent: under?.id, before: sibling?.id)
        try await self.report(try await self.write([step]), object: found.id, output)
    }

    func remove(_ object: String, _ output: CommandOutput) async throws {
        let found = try await self.find(object)
        let below = try await self.read { transaction in
            try StateExport.subtree(found.index, in: &transaction).map { try transaction.object($0).id }
        }
        // From below, so that what has not been deleted yet still has its place.
        var rest = below.dropFirst().reversed()[...]
        while rest.count >= Limits.changeOperationCountMax {
            _ = try await self.write(rest.prefix(Self.deletedCountMax).map { .delete($0) })
            rest = rest.dropFirst(Self.deletedCountMax)
            try await output.progress("deleted \(below.count - rest.count) of \(below.count) objects")
        }
        try await self.report(try await self.write([.delete(found.id)]), object: found.id, output)
        try await output.progress("")
    }

    /// Objects that are deleted at once where there are more than one transaction can delete.
    private static let deletedCountMax = 1 << 13

    /// Orders held changes of the user's devices directly after what they had seen.
    func restamp(isClockRight: Bool, _ output: CommandOutput) async throws {
        let written = await self.driver.restamp(isClockRight: isClockRight)
        let receipt = try written.mapError { CommandFailure($0) }.get()
        let restamps = try await self.read { try RestampReport.written(receipt, in: &$0) }
        if output.format.isJSON {
            return try await output.json(.array(restamps.map(\.json)))
        }
        for restamp in restamps { try await output.line(restamp.text) }
        if restamps.isEmpty { try await output.line("Nothing is held.") }
    }

    func find(_ object: String) async throws -> FoundObject {
        try await self.read { transaction in try ObjectLookup.find(object, in: &transaction) as FoundObject }
    }

    private func report(_ receipt: WriteReceipt, object: ObjectID, _ output: CommandOutput) async throws {
        guard output.format.isJSON else { return }
        var members: [ExactText: JSON] = [
            "id": .string(object.description),
            "operations": .int(Int64(receipt.operationCount)),
            "replica": .null,
            "sequence": .null,
        ]
        if let dot = receipt.dot {
            members["replica"] = .string(dot.replica.description)
            members["sequence"] = .int(Int64(clamping: dot.sequence))
        }
        try await output.json(.object(members))
    }
}

/// One stretch of a chain that was restamped.
struct RestampReport {
    var restamp: Restamp
    var deviceName: String

    /// What a change that was just written restamps.
    static func written(
        _ receipt: WriteReceipt,
        in transaction: inout some StoreTransaction
    ) throws -> [RestampReport] {
        guard let dot = receipt.dot, let line = transaction.firstLine(of: dot.replica) else { return [] }
        var found: [RestampReport] = []
        var write = WriteReference(stamp: .zero, line: line, sequence: dot.sequence, index: 0)
        while let edit = try transaction.edit(write) {
            write.index += 1
            guard case .restamp(let restamp) = edit, let target = transaction.firstLine(of: restamp.replica) else {
                continue
            }
            let name = transaction.line(target).introduction?.deviceName
            found.append(RestampReport(restamp: restamp, deviceName: name ?? "?"))
        }
        return found
    }

    private var changeCount: UInt64 { self.restamp.lastSequence + 1 - self.restamp.firstSequence }

    var json: JSON {
        .object([
            "replica": .string(self.restamp.replica.description),
            "device_name": .string(self.deviceName),
            "changes": .int(Int64(clamping: self.changeCount)),
        ])
    }

    var text: String {
        "restamped \(PlainText.count(self.changeCount, "change")) of \(self.deviceName)"
    }
}

extension CommandFailure {
    static func noProperty(_ name: String, of object: ObjectID) -> CommandFailure {
        CommandFailure(.noSuchObject, "\(object) has no property \"\(name)\".")
    }
}
