internal import CRDTCore
internal import Engine
internal import PeerdKit

/// The verbs that show objects.
extension Executor {
    func get(_ object: String, _ name: String?, _ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        try await self.printState(output) { transaction, spool in
            let found: FoundObject = try ObjectLookup.find(object, in: &transaction)
            guard let name else {
                return try ObjectView.describe(found.index, isJSON: isJSON, in: &transaction, to: spool)
            }
            guard let value = try transaction.property(name, of: found.index) else {
                throw CommandFailure.noProperty(name, of: found.id)
            }
            if case .string(let text) = value, !isJSON {
                // Byte for byte, for scripts.
                spool.write((text + "\n").utf8)
            } else {
                spool.json(value.json)
            }
        }
    }

    func list(_ object: String?, _ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        try await self.printState(output) { transaction, spool in
            let parent = try ObjectLookup.find(object, in: &transaction) as FoundObject?
            var children = ChildPages(of: parent?.index)
            if isJSON {
                try ObjectView.writeArray(to: spool) {
                    try children.next(in: &transaction).map { child, _ in
                        try ObjectView.summary(of: child, in: &transaction).json
                    }
                }
            } else {
                while let (child, _) = try children.next(in: &transaction) {
                    spool.line(try ObjectView.summary(of: child, in: &transaction).line)
                }
            }
        }
    }

    func tree(_ object: String?, _ output: CommandOutput) async throws {
        let isJSON = output.format.isJSON
        try await self.printState(output) { transaction, spool in
            let root = try ObjectLookup.find(object, in: &transaction) as FoundObject?
            let drawing = TreeDrawing(spool: spool)
            if isJSON {
                try drawing.writeJSON(under: root?.index, in: &transaction)
            } else {
                try drawing.write(under: root?.index, in: &transaction)
            }
        }
    }

    func export(_ object: String?, _ output: CommandOutput) async throws {
        try await self.printState(output) { transaction, spool in
            let root = try ObjectLookup.find(object, in: &transaction) as FoundObject?
            try ExportText.write(under: root?.index, in: &transaction) { spool.write($0) }
        }
    }
}
