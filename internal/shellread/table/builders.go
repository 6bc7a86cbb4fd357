package table

// builders build, test and publish. Running a project's own code is their
// ordinary use and carries no mark; an option that names another program,
// loads code from a named file or writes a named file does.
const builders = `
make,gmake,bmake | args=- by=make
  -bBeikmnpqrRsStwv -j? -l? -O? -o= -W= -d --jobs? --keep-going --dry-run --just-print --silent --quiet --always-make --no-print-directory --print-directory --question --touch --trace --warn-undefined-variables
  --version:V -C=:C --directory=:C -f=:c --file=:c --makefile=:c -I=:c --include-dir=:c --eval=:x -E=:x
ninja | args=-
  -vnkd= -j= -l= -t= -C=:C -f=:c --version:V
cmake | args=-
  -G= -D= -U= -A= -T= -B= -S= -N --build= --target= --parallel? --config= -j? --install= --preset= --version:V -P=:c -C=:c -E:x --toolchain=:c
meson,bazel,buck,scons,waf | args=-
  --version:V
gcc,cc,g++,c++,clang,clang++,cpp | long1 args=r
  -c -S -E -g -v -w -pipe -I= -L= -D= -U= -x= --version:V -o=:w -B=:c -specs=:c -wrapper=:x -fplugin=:c -load=:c
ld,gold,lld | long1 args=r
  -o=:w -plugin=:c -T=:c
rustc | args=r
  -gOvV --version:V --edition= --crate-type= -C= -L= -l= -A= -W= -D= --cfg= --test --explain= -o=:w --out-dir=:w
javac,kotlinc,scalac | long1 args=r
  -d=:w -cp= -classpath= -processor=:c -processorpath=:c -version:V
java | long1 first args=c
  -version:V -cp= -classpath= -jar= -javaagent:c -agentpath:c -agentlib:c -XX
mvn,mvnw,gradle,gradlew,ant,sbt,lein | args=- by=publisher
  -qBoUXeNvam -D= -P= -T= -f=:c --file=:c -I=:c --init-script=:c -b=:c --build-file=:c -p=:C --project-dir=:C -s=:c --settings=:c --version:V
dotnet | sub first
  --version:V --info:V --list-sdks:V --list-runtimes:V
dotnet nuget | sub
dotnet nuget push,dotnet nuget delete | external
swift,xcodebuild,zig,nim,crystal,dart,flutter,mix,rebar3,stack,cabal,dune | args=-
  --version:V
rustup | sub first
  --version:V
rustup show,rustup toolchain | args=-
rustup run | wrap=1

# go list, version and env read; go build, test, vet and run compile and may start what the module names
go | sub first long1
  -C=:C
go version | ro long1 args=r
  -m -v -json
go env | ro long1 args=-
  -json -changed -w:w -u:w
# -u, -versions, -retracted and -reuse ask the network; -export, -compiled and -toolexec build
go list | ro long1 args=-
  -f= -json? -m -deps -test -e -find -a -tags= -buildvcs= -C=:C -u:n -versions:n -retracted:n -export:n -compiled:n -reuse=:n -mod=:n -modfile=:n -toolexec=:X -overlay=:c
go doc | ro long1 args=-
  -all -c -cmd -short -src -u -http:n
go help | ro long1 args=-
go build,go test,go vet,go run,go install,go generate,go tool,go bug,go clean,go fix,go fmt,go get,go work | long1 args=- by=go
  -v -x -n -a -race -msan -asan -cover -i -json -short -failfast -benchmem -fullpath -trimpath -work -linkshared -list= -run= -skip= -count= -bench= -benchtime= -timeout= -cpu= -parallel= -p= -tags= -ldflags= -gcflags= -asmflags=
  -buildmode= -buildvcs= -compiler=:x -gccgoflags=:x -covermode= -coverpkg= -mod= -installsuffix= -pgo= -vet= -shuffle= -fuzz= -fuzztime= -fuzzminimizetime= -blockprofilerate= -mutexprofilefraction= -memprofilerate= -pkgdir= -args:.
  -C=:C -o=:w -coverprofile=:w -cpuprofile=:w -memprofile=:w -blockprofile=:w -mutexprofile=:w -trace=:w -outputdir=:w -exec=:X -toolexec=:X -vettool=:X -overlay=:c -modfile=:c
go mod | sub
go mod tidy,go mod download,go mod init,go mod vendor,go mod verify,go mod graph,go mod why,go mod edit | long1 args=-
gofmt,goimports,gofumpt | ro long1 args=r dir
  -l -d -e -s -v -r= -local= -lang= -extra -w:I -cpuprofile=:w
golangci-lint,staticcheck,govulncheck | args=-
  --version:V -c=:c --config=:c --fix:n
gopls,dlv | args=-
# cargo starts the compiler and the wrapper that the project names, even for tree and metadata, so only these forms read
cargo | sub first
  -vq -V:V --version:V --list:V -h:V --help:V --locked --offline --frozen --color= --explain= --verbose --quiet -Z= --config=:c -C=:C
cargo version,cargo help | ro args=-
cargo build,cargo b,cargo check,cargo c,cargo test,cargo t,cargo run,cargo r,cargo bench,cargo clippy,cargo doc,cargo fmt,cargo tree,cargo metadata,cargo rustc,cargo rustdoc,cargo nextest,cargo fix | args=-
  -vqrj= -p= -F= -e= -i= -h --release --workspace --all --all-features --all-targets --no-default-features --features= --package= --bin= --bins --lib --test= --tests --example= --examples --bench= --benches --target= --profile= --locked --offline --frozen
  --no-run --no-fail-fast --message-format= --color= --jobs= --keep-going --check --exclude= --doc --verbose --quiet --no-deps --open --manifest-path=:n --target-dir=:w --out-dir=:w --artifact-dir=:w --config=:c
cargo publish,cargo yank,cargo owner,cargo login,cargo logout,cargo release | external args=-
cargo install,cargo uninstall,cargo add,cargo remove,cargo update,cargo new,cargo init,cargo clean,cargo vendor,cargo fetch,cargo search,cargo info,cargo generate-lockfile,cargo audit,cargo deny,cargo outdated,cargo expand,cargo llvm-cov | args=-
  --config=:c
# npm test and npm run start what package.json names: an ordinary program
npm | sub first by=npm
  -v:V --version:V -h:V --help:V -C=:C --dir=:C --cwd=:C --prefix=:C -w= --workspace= --workspaces -ws -s --silent -q --quiet -d --loglevel= --json -r --recursive --filter= -F= --userconfig=:c --globalconfig=:c --script-shell=:x --node-options=:c
npm ls,npm list,npm ll,npm root,npm prefix,npm bin,npm help | ro args=-
  -galp --all --depth= --json --long --parseable --global --prod --production --dev --only= --omit= --include= --link --package-lock-only --silent -s --workspaces -w= --workspace=
npm explain,npm why,npm fund,npm whoami,npm ping,npm view,npm info,npm show,npm search,npm outdated,npm audit,npm doctor,npm query,npm diff | args=-
npm config | sub
npm config get,npm config list,npm config ls | ro args=-
  --json -l --long -g --global
npm config set,npm config delete,npm config edit | args=-
npm run,npm run-script,npm test,npm t,npm start,npm stop,npm restart,npm install,npm i,npm ci,npm add,npm update,npm up,npm uninstall,npm remove,npm rm,npm rebuild,npm prune,npm dedupe,npm pack,npm link,npm init,npm version,npm cache | args=-
  --script-shell=:x --node-options=:c --userconfig=:c --prefix=:C
npm exec,npm x | by=runner
npm publish,npm unpublish,npm deprecate,npm undeprecate,npm dist-tag,npm owner,npm access,npm token,npm login,npm adduser,npm logout,npm team,npm org,npm hook,npm star,npm unstar,npm profile,npm stage,npm trust | external args=-
pnpm,yarn | sub first by=npm
  -v:V --version:V -h:V --help:V -C=:C --dir=:C --cwd=:C --prefix=:C -w --workspace-root -s --silent -q -r --recursive --filter= -F= --script-shell=:x --node-options=:c
pnpm ls,pnpm list,pnpm root | ro args=-
  -rPDgh --depth= --json --long --parseable --global --prod --dev
pnpm exec,pnpm dlx,yarn dlx | wrap
pnpm publish,yarn npm,pnpm login,yarn login | external args=-
npx,bunx,pnpx | by=runner
tsc,vite,webpack,rollup,esbuild,turbo,nx,vitest,jest,mocha,cypress,playwright,eslint,prettier,stylelint,biome,oxlint,svelte-check,vue-tsc,next,astro,rspack,parcel,ava,tap,c8,nyc | args=-
  -v:V --version:V -c=:c --config=:c --plugin=:c --rulesdir=:c --resolve-plugins-relative-to=:c --parser=:c --setupFilesAfterEnv=:c --setupFiles=:c --globalSetup=:c --reporter= --require=:c -r=:c --loader=:c --import=:c -o=:w --output-file=:w --outputFile=:w
lerna,changeset,semantic-release,release-it,goreleaser,np,standard-version,vsce,ovsx | args=- by=publisher
pip,pipx | args=-
  -V:V --version:V -vqUe= -r= -c= --python=:c
pip list,pip show,pip freeze,pip check | args=-
pytest,py.test,tox,nox,unittest | args=-
  -vqxslfr? -k= -m= -n= -h --tb= --maxfail= --lf --ff --sw --durations= --cov? --cov-report= --cov-fail-under= --no-cov --no-header --no-summary --collect-only --co --strict-markers --markers --fixtures --timeout= --ignore= --deselect= --import-mode= --asyncio-mode=
  --version:V -p=:c -c=:c --config-file=:c --confcutdir=:c --rootdir=:n --pdbcls=:c --pdb --junitxml=:w --junit-xml=:w --basetemp=:wD --result-log=:w --html=:w -o=:n --override-ini=:n
ruff,black,isort,flake8,pylint,mypy,pyright,bandit,yapf,autopep8,pyflakes,pycodestyle,codespell,pre-commit,coverage,sphinx-build | args=-
  -V:V --version:V --load-plugins=:c --init-hook=:x --rcfile=:c --output-file=:w --python-executable=:x --config=:n --config-file=:n --fix:n
twine,flit,hatch,poetry,uv,pdm,pipenv,rye,conda,mamba,micromamba | sub first
  -V:V --version:V -q -v --quiet --verbose --no-cache --offline -C=:C --directory=:C --project=:C --config-file=:c
twine upload,flit publish,hatch publish,poetry publish,uv publish,pdm publish,rye publish,twine register,conda upload | external args=-
twine check,poetry show,poetry check,poetry install,poetry add,poetry build,poetry lock,uv sync,uv pip,uv lock,uv add,uv tree,uv venv,uv build | args=-
poetry run,pipenv run,pdm run,rye run,hatch run | wrap
uv run,uvx | wrap
  -mqvp= --with= --python= --extra= --group= --all-extras --no-sync --frozen --locked --isolated --no-project --quiet --offline --package= --module --with-requirements= --env-file=:c --no-dev --dev --active
conda run,mamba run,micromamba run | wrap
  -n= -p= --name= --prefix= --no-capture-output --live-stream --cwd=:C
bundle | sub first
  -v:V --version:V
bundle exec | wrap
  --gemfile=:c
bundle install,bundle update,bundle check,bundle list,bundle show,bundle outdated | args=-
rake,rspec,rails,rubocop,cucumber,minitest | args=-
  --version:V -v -f= -c -t --trace -r=:c --require=:c -R=:c --rakefile=:c -I=:c -o=:w --out=:w --options=:c
gem | sub first
  -v:V --version:V
gem list,gem which,gem environment,gem contents,gem specification | args=-
gem push,gem yank,gem owner,gem signin | external args=-
composer,phpunit,artisan | args=-
  -V:V --version:V -c=:c --configuration=:c --bootstrap=:c -d=:n --working-dir=:C
mise,asdf,rbenv,pyenv,nvm,fnm,volta,devbox,devenv,nix | args=- sub first
  -v:V --version:V
mise exec,mise x,asdf exec,rbenv exec,pyenv exec,volta run | wrap
direnv | args=- sub first
direnv exec | wrap=1
just,task | args=-
  --version:V -f=:c --justfile=:c -t=:c --taskfile=:c -d=:C --working-directory=:C
nix-shell | args=-
  -p -A= --pure --packages --run=:T --command=:T
apt,apt-get,apt-cache,dpkg,dnf,yum,zypper,pacman,apk,brew,snap,flatpak,port | args=-
  -yqfmdusSlLiVhn -t= -o=:n --version:V
dpkg-query,rpm | args=-
`
