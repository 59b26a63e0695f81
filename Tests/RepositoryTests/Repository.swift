import Foundation

/// A text file of the repository, by its path from the root.
struct SourceFile {
    let path: String
    let text: String
    let code: SwiftCode

    init(path: String, text: String) {
        self.path = path
        self.text = text
        self.code = SwiftCode(stripping: path.hasSuffix(".swift") ? text : "")
    }

    var name: String {
        String(self.path.split(separator: "/").last ?? "")
    }

    /// The module this file is part of: the folder below `Sources`, or below `Benchmarks` for a Swift file.
    var module: String? {
        let parts = self.path.split(separator: "/")
        guard parts.count > 2 else { return nil }
        let isModule = parts[0] == "Sources" || (parts[0] == "Benchmarks" && self.path.hasSuffix(".swift"))
        return isModule ? String(parts[1]) : nil
    }

    /// Where the code matches, one line of report a match.
    ///
    /// The words are those of the language: to the default kind of boundary the dot of a member is part of a word.
    func matches(of pattern: Regex<AnyRegexOutput>, saying problem: (String) -> String) -> [String] {
        let text = self.code.text
        let pattern = pattern.wordBoundaryKind(.simple).matchingSemantics(.unicodeScalar).anchorsMatchLineEndings()
        return text.matches(of: pattern).map {
            let line = text[..<$0.range.lowerBound].utf8.count { $0 == UInt8(ascii: "\n") } + 1
            return "\(self.path):\(line): \(problem(String(text[$0.range])))"
        }
    }
}

/// The working copy these tests were built from.
enum Repository {
    struct NotFound: Error, CustomStringConvertible {
        let description: String
    }

    static func root() throws -> URL {
        // Resolved first, so that a package which reaches these tests by a symbolic link checks the real tree.
        var folder = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        while folder.path != "/" {
            let manifest = folder.appendingPathComponent("Package.swift")
            if let text = try? String(contentsOf: manifest, encoding: .utf8), text.contains("name: \"peerd\",") {
                return folder
            }
            folder.deleteLastPathComponent()
        }
        throw NotFound(description: "No Package.swift of peerd above \(#filePath).")
    }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root().appendingPathComponent(path), encoding: .utf8)
    }

    /// The Swift sources of the package and of the packages inside it, without what a build made.
    static func swiftFiles() throws -> [SourceFile] { try self.readSwiftFiles.get() }

    /// Read once, since every rule looks at all of them.
    private static let readSwiftFiles = Result { try Repository.files(withExtensions: ["swift"]) }

    /// The files with one of these extensions, in the order of their paths.
    static func files(withExtensions extensions: Set<String>) throws -> [SourceFile] {
        try self.paths()
            .filter { extensions.contains(String($0.split(separator: ".").last ?? "")) }
            .map { SourceFile(path: $0, text: try self.text($0)) }
    }

    /// Every file below the root that is the project's own, as a sorted list of paths.
    ///
    /// A hidden folder at the root belongs to the project only if it is named here.
    static func paths() throws -> [String] {
        let root = try self.root()
        let hiddenButOurs: Set<String> = [".ci", ".swift-format", ".gitignore"]
        var found: [String] = []
        var folders = [""]
        while let folder = folders.popLast() {
            for name in try FileManager.default.contentsOfDirectory(atPath: root.path + "/" + folder) {
                if name.hasPrefix("."), !hiddenButOurs.contains(name) { continue }
                if name == "__pycache__" || name == "Package.resolved" { continue }
                let path = folder + name
                var isFolder: ObjCBool = false
                guard FileManager.default.fileExists(atPath: root.path + "/" + path, isDirectory: &isFolder) else {
                    continue
                }
                if isFolder.boolValue { folders.append(path + "/") } else { found.append(path) }
            }
        }
        return found.sorted()
    }

    /// The paths git tracks, or nil where this is no git checkout or there is no git.
    static func trackedPaths() throws -> [String]? {
        let git = Process()
        git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // Whoever runs the tests may not be the owner of the checkout; it is only read.
        git.arguments = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
        git.currentDirectoryURL = try self.root()
        let output = Pipe()
        git.standardOutput = output
        git.standardError = FileHandle.nullDevice
        try git.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        git.waitUntilExit()
        guard git.terminationStatus == 0 else { return nil }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\0").map(String.init)
    }
}
